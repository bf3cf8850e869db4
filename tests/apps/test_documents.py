"""Documents that are asked: what is found, what is read, and what they do not say."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unmask.apps.answer import AnswerFinder, Passage
from unmask.apps.document_index import DocumentIndex, Source, indexed
from unmask.apps.documents import Documents, best_passages, merged, open_documents
from unmask.apps.load import load
from unmask.apps.refusing import Refused
from unmask.errors import InputError
from unmask.retrieve.lexical import Lexical

from .test_answer import finder


class Meaning:
    """A space of two meanings, water and light, whatever the words."""

    def __init__(self, *, taught: bool = True) -> None:
        self.encoder = SimpleNamespace(taught=taught)

    def __call__(self, texts: Sequence[str], **_: Any) -> np.ndarray:
        wet = [any(word in text.lower() for word in ("rain", "sea", "wet")) for text in texts]
        return np.array([[1.0, 0.0] if is_wet else [0.0, 1.0] for is_wet in wet], np.float32)


def index_of(texts: Sequence[str], space: Any = None) -> DocumentIndex:
    passages = tuple(Passage(text, f"{number}.txt") for number, text in enumerate(texts))
    return DocumentIndex((), (), passages, Lexical.of(texts), space and space(texts), space)


def test_passages_are_found_by_words_and_by_meaning() -> None:
    texts = ["The lamp.", "The sea.", "The keeper."]
    assert best_passages(index_of(texts), ["Is it wet?", "keeper"], 2) == [[], [2]]
    assert best_passages(index_of(texts, Meaning()), ["Is it wet?"], 1) == [[1]]
    assert best_passages(index_of(texts, Meaning()), ["the wet keeper"], 3)[0][0] in (1, 2)


def test_an_encoder_that_was_never_taught_only_fills_what_words_leave() -> None:
    texts = ["The lamp.", "The sea.", "The keeper.", "Rain."]
    found = best_passages(index_of(texts, Meaning(taught=False)), ["the wet keeper"], 4)[0]
    assert (found[0], found[-1]) == (2, 3)


def test_only_the_best_passages_are_read() -> None:
    texts = ["The old keeper lit the lamp.", *["The sailor"] * 20]
    documents = Documents(index_of(texts), finder())
    assert documents("sailor", top=3).answer == "sailor"
    assert documents("Who lit the lamp?", top=3).to_dict()["source"] == "0.txt"
    assert {*documents("sailor ?", top=3).sources} <= {"1.txt", "2.txt", "3.txt"}


def test_all_is_read_where_there_are_few_passages() -> None:
    assert Documents(index_of(["The old keeper", "rain"]), finder())("谁?").answer == "old keeper"


def test_what_nothing_fits_is_not_in_the_documents() -> None:
    told = Documents(index_of(["The sailor"] * 20), finder())("谁是人?").to_dict()
    assert (told["answer"], told["no_answer_probability"], told["nbest"]) == (None, 1.0, [])


def test_what_the_reader_does_not_find_is_not_in_the_documents() -> None:
    documents = Documents(index_of(["The sailor"] * 20), finder(nothing=9.0, thresholds={"no_answer": 0.0}))
    told = documents("Who is the sailor?").to_dict()
    assert told["answer"] is None
    assert told["nbest"][0]["source"].endswith(".txt")


def test_an_answer_whose_passage_speaks_of_something_else_is_none() -> None:
    documents = Documents(index_of(["The old keeper", "rain"]), finder())
    there, elsewhere = documents("Who is the old keeper?"), documents("Who built the cathedral in Lisbon?")
    assert (there.answer, elsewhere.answer) == ("old keeper", None)
    assert elsewhere.answered.nbest[0].answer == "old keeper"  # what would have been said is shown
    for found in (there, elsewhere):
        odds = [span.score for span in found.answered.nbest]
        assert sum(odds) + found.answered.no_answer_probability == pytest.approx(1)
    assert there.answered.no_answer_probability < 0.01 < 0.9 < elsewhere.answered.no_answer_probability


def test_a_passage_that_fits_goes_before_one_that_the_reader_likes() -> None:
    texts = ["The old keeper", "The sailor and the lighthouse of Marlow"]
    assert finder()("Who?", [Passage(text) for text in texts]).answer == "old keeper"
    assert Documents(index_of(texts), finder())("Who was at the lighthouse of Marlow?").to_dict()["source"] == "1.txt"


def test_meaning_fits_where_no_word_does() -> None:
    texts = ["The keeper of rain", "The lamp"]
    assert Documents(index_of(texts), finder())("Is it wet?").answer is None
    assert Documents(index_of(texts, Meaning()), finder())("Is it wet?").to_dict()["source"] == "0.txt"


def test_many_questions_spare_each_other() -> None:
    empty, nul, well = Documents(index_of(["The sailor"]), finder()).many([" ", "a\0b", "Who?"])
    assert isinstance(empty, Refused)
    assert isinstance(nul, Refused)
    assert well.to_dict()["answer"] == "sailor"
    with pytest.raises(InputError, match="an empty question"):
        Documents(index_of(["The sailor"]), finder())(" ")


def test_passages_that_overlap_are_read_once(tmp_path: Path) -> None:
    text = " ".join(f"The rain fell on the sea {number}." for number in range(100)) + " The old keeper lit it."
    (tmp_path / "log.txt").write_text(text)
    index, _ = indexed([Source.of(tmp_path)])
    assert len(index.passages) > 3
    joined = merged(index.passages[::-1])
    assert [(passage.text, passage.start) for passage in joined] == [(text, 0)]
    found = Documents(index, finder())("Who lit the lamp?").to_dict()
    assert (found["answer"], found["sentence"]) == ("old keeper", "The old keeper lit it.")
    assert text[found["start"] : found["end"]] == "old keeper"
    places = [(span["source"], span["start"], span["end"]) for span in found["nbest"]]
    assert len(places) == len({*places})


def test_passages_that_touch_no_other_stay_as_they_are() -> None:
    passages = [Passage("b", "x", 5), Passage("a", "x", 0), Passage("c", "y", 6)]
    assert merged(passages) == [passages[1], passages[0], passages[2]]


def test_an_index_is_opened_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.txt").write_text("The sailor")
    indexed([Source.of(tmp_path / "log.txt")])[0].save(tmp_path / "index", reader="mine")
    opened = []

    def open_reader(name: str, **_: Any) -> AnswerFinder:
        opened.append(name)
        return finder()

    monkeypatch.setattr(AnswerFinder, "open", open_reader)
    assert load(tmp_path / "index")("Who?").answer == "sailor"
    assert open_documents(tmp_path / "index", "other")("Who?").answer == "sailor"
    assert open_documents(tmp_path / "index", finder())("Who?").answer == "sailor"
    assert opened == ["mine", "other"]


def test_a_reader_that_is_not_installed_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("The sailor")
    indexed([Source.of(tmp_path / "log.txt")])[0].save(tmp_path / "index", reader=str(tmp_path / "away"))
    with pytest.raises(InputError, match="away"):
        open_documents(tmp_path / "index")
