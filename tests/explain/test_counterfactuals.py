"""Counterfactuals flip the answer when the model reads them, are the smallest of all that were proposed, and fluent."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from small_models import small_model

from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.explain.counterfactuals import Change, Counterfactuals, _Judge, changed, counterfactuals
from unmask.explain.explaining import explain
from unmask.explain.proposing import Place, Proposer
from unmask.model.folder import ModelFolder
from unmask.tasks.kinds import task_of

TEXT = "the quick brown fox was not lazy"


class Fixed(Proposer):
    """The same few words everywhere."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, places: Any, *, top: int) -> list[list[tuple[str, float]]]:
        return [[(word, 0.1) for word in self.words if word != place.word][:top] for place in places]


def judge(opened: ModelFolder) -> _Judge:
    return _Judge(opened, task_of(opened.about, opened.config.positions))  # type: ignore[arg-type]


def found_with(opened: ModelFolder, text: Any, proposer: Proposer, **options: Any) -> Counterfactuals:
    return counterfactuals(opened, text, explain(opened, text, method="erasure", orders=3), proposer, **options)


@pytest.mark.parametrize("text", [TEXT, "nobody had hoped for it", (TEXT, "they go in")])
def test_what_is_found_flips_the_answer(text: Any) -> None:
    opened = small_model("classes")
    found = found_with(opened, text, Proposer(small_model("masked_words")))
    assert found.found
    for one in found.found:
        said = judge(opened)([TextExample(*one.texts)])[0]
        assert opened.about.labels[int(said.argmax())] == one.label != found.label
        assert said.max() == pytest.approx(one.probability, abs=1e-5)


def test_no_smaller_set_of_the_same_words_flips_it() -> None:
    opened, words = small_model("classes"), ("dog", "go")
    texts = [" ".join(chosen) for chosen in product(["the", "fox", "was", "not"], repeat=3)]
    sizes = set()
    for text in texts[::5]:
        found = found_with(opened, text, Fixed(*words), most_words=3, beam=50)
        spans = explain(opened, text, method="erasure", orders=3).words
        own = int(judge(opened)([TextExample(text)])[0].argmax())
        smallest = next(
            (
                count
                for count in (1, 2, 3)
                for chosen in combinations(spans, count)
                for new in product(words, repeat=count)
                if judge(opened)([TextExample(_with(text, chosen, new))])[0].argmax() != own
            ),
            None,
        )
        assert (len(found.found[0].changes) if found.found else None) == smallest
        sizes.add(smallest)
    assert {1, 2} <= sizes


def _with(text: str, words: Any, new: Any) -> str:
    return changed(text, 0, [Change(word, one, 0.1) for word, one in zip(words, new, strict=True)])


def test_nothing_found_is_said() -> None:
    found = found_with(small_model("classes"), TEXT, Fixed(), most_words=2)
    assert found.found == ()
    assert found.verdict == "none found within 2 words (0 texts tried)"
    assert "none found within 2 words" in found.as_html()


def test_pages_and_terminals_show_what_goes_and_what_comes() -> None:
    found = found_with(small_model("classes"), "<b> the fox was lazy", Proposer(small_model("masked_words")))
    page, said = found.as_html(), found.in_words()
    assert "<b>" not in page
    change = found.found[0].changes[0]
    assert f"<ins>{change.new}</ins>" in page
    assert f"{change.word.text} → {change.new}" in said
    assert found.to_dict()["found"][0]["changes"][0]["new"] == change.new


def test_proposals_are_the_likeliest_whole_words() -> None:
    opened = small_model("masked_words")
    (found,) = Proposer(opened)([Place("The Fox was lazy", 4, 7)], top=4)
    assert 0 < len(found) <= 4
    assert all(word[0].isupper() and word.lower() in opened.tokenizer.pieces and word != "Fox" for word, _ in found)
    assert np.all(np.diff([probability for _, probability in found]) <= 0)


def test_a_chinese_word_is_replaced_by_one_of_as_many_characters() -> None:
    found, one = Proposer(small_model("masked_words"))([Place("我们明天go", 2, 4), Place("我们go", 1, 2)], top=5)
    assert found
    assert all(len(word) == 2 and word != "明天" for word, _ in found)
    assert all(len(word) == 1 for word, _ in one)


def test_a_long_text_is_read_around_its_mask() -> None:
    text = "the fox " * 60
    found = Proposer(small_model("masked_words"))([Place(text, 4, 7), Place(text, 404, 407)], top=3)
    assert all(found)


def test_models_of_other_tasks_are_refused() -> None:
    opened = small_model("regression")
    with pytest.raises(InputError, match="one class"):
        counterfactuals(opened, TEXT, explain(opened, TEXT, orders=3), Fixed("dog"))
