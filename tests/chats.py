"""A small encoder and made-up dialogues to chat with, and made-up knowledge behind a chat."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

THINGS = ("tea", "coffee", "soup", "bread", "honey", "cake", "rice", "fish")
PLACES = ("garden", "harbour", "museum", "station", "market", "castle")
WORDS = (
    "do you like the is good with we went to yes no was it nice lovely hello who are i am a lamp . ? ! , 你 好 吗 我 很"
)


def talks() -> list[list[str]]:
    """Dialogues in which the reply takes up what was said."""
    found = []
    for thing in THINGS:
        for place in PLACES:
            found.append(
                [f"do you like {thing}?", f"yes, {thing} is good.", f"we went to the {place}.", f"the {place}!"]
            )
    return found


def write_talks(path: Path) -> Path:
    """The same as a file."""
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks()), encoding="utf-8")
    return path


def small_encoder(folder: Path, head: str | None = "pretraining") -> Path:
    """A folder with an untrained encoder that knows the words of the dialogues."""
    tokenizer = Tokenizer([*SPECIAL_PIECES, *WORDS.split(), *THINGS, *PLACES])
    config = BertConfig(
        vocabulary_size=tokenizer.size, width=32, layers=1, heads=2, feed_forward=64, positions=64, pooler=True
    )
    bert = Bert(config, seed=1)
    model = bert if head is None else BertWithHead(bert, make_head(head, config, seed=2))
    save_model(folder, config, model, tokenizer, About(head))
    return folder


@dataclass
class Knows:
    """Knowledge that has one answer to everything, or none."""

    answer: str | None
    score: float = 0.9
    asked: int = 0
    threshold: float = 0.0

    def __call__(self, question: str) -> "Knows":
        self.asked += bool(question)
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"answer": self.answer, "score": self.score, "candidates": []}
