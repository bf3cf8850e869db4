"""Finding answers in texts: which passage, where in its source, however long, and what is refused."""

import json
import tracemalloc
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unmask.apps.answer import AnswerFinder, Passage
from unmask.data.ragged import Ragged
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = "who lit the lamp ? keeper , old sailor . rain fell on sea and 人 天 地 是 谁"
TOKENIZER = Tokenizer([*SPECIAL_PIECES, *WORDS.split()])
BEGINS, ENDS = {"old": 9.0, "sailor": 5.0, "天": 9.0}, {"keeper": 9.0, "sailor": 8.0, "天": 9.0}
LONG = "The rain fell on the sea, and the sea fell on the rain. " * 500


class Pointing(nn.Module):
    """A head that likes some words as beginnings, others as ends, and gives `nothing` to [CLS]."""

    per_token = True

    def __init__(self, nothing: float) -> None:
        super().__init__()
        liked = [[BEGINS.get(piece, 0.0), ENDS.get(piece, 0.0)] for piece in TOKENIZER.pieces]
        liked[TOKENIZER.cls_id] = [nothing, nothing]
        self.liked = torch.tensor(liked)

    def forward(self, batch: Ragged, **_: Any) -> Tensor:
        return self.liked[torch.from_numpy(batch.ids)]  # (T, 2)


class Rigged(BertWithHead):
    """Reads words, not sentences."""

    def forward(self, batch: Ragged, **_: Any) -> Any:
        return self.head(batch)


def finder(nothing: float = 1.0, **about: Any) -> AnswerFinder:
    config = BertConfig(vocabulary_size=TOKENIZER.size, width=8, layers=1, heads=2, feed_forward=8, positions=64)
    return AnswerFinder(Rigged(Bert(config), Pointing(nothing)), TOKENIZER, About("span", **about))


def test_the_answer_is_the_best_of_all_passages_by_its_place_in_its_source() -> None:
    passages = [
        Passage("Rain fell.", "weather.txt"),
        Passage("", "empty.txt"),
        Passage("the Old Keeper lit it", "log.md", start=100),
        Passage("The sailor", "crew.txt"),
    ]
    found = finder()("Who lit the lamp?", passages)
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["answer"], told["start"], told["end"], told["source"]) == ("Old Keeper", 104, 114, "log.md")
    assert told["sentence"] == "the Old Keeper lit it"
    other = {"answer": "sailor", "start": 4, "end": 10, "source": "crew.txt", "sentence": "The sailor"}
    assert {**other, "score": pytest.approx(0, abs=0.1)} in told["nbest"]
    assert sum(span["score"] for span in told["nbest"]) == pytest.approx(1)


def test_a_text_alone_has_no_source() -> None:
    told = finder()("谁是人?", "地是天。").to_dict()
    assert list(told) == ["answer", "start", "end", "score", "no_answer_probability", "nbest"]
    assert (told["answer"], told["start"], told["end"]) == ("天", 2, 3)
    assert not {"source", "sentence"} & {*told["nbest"][0]}


def test_no_answer_is_null_and_has_no_source() -> None:
    passages = [Passage("The sailor", "crew.txt")]
    told = finder(nothing=7.0, thresholds={"no_answer": 0.0})("Who?", passages).to_dict()
    assert (told["answer"], told["start"], told["end"]) == (None, None, None)
    assert not {"source", "sentence"} & {*told}
    assert told["nbest"][0]["source"] == "crew.txt"
    assert told["score"] == told["no_answer_probability"] > 0.5
    assert finder(nothing=7.0, thresholds={"no_answer": -2.0})("Who?", passages).answer == "sailor"


def test_an_answer_deep_in_a_long_text_is_found_in_bounded_memory() -> None:
    text = f"{LONG}The old keeper lit it. {LONG}"  # 13,000 words
    tracemalloc.start()
    found = finder()("Who lit the lamp?", text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    place = text.index("old keeper")
    assert (found.answer, found.answered.start) == ("old keeper", place)
    assert peak < 60_000_000


def test_an_empty_question_is_refused() -> None:
    with pytest.raises(InputError, match="an empty question"):
        finder()(" ", "The sailor")


def test_a_model_for_something_else_is_refused(model: BertWithHead) -> None:
    with pytest.raises(InputError, match="the head 'pretraining'; wanted one that was fine-tuned for answering"):
        AnswerFinder(model, TOKENIZER, About("pretraining"))
