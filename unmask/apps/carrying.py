"""The words that carried a class: an opened model and an example in, its strongest words out, by their places."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

WORDS = 5  # that are shown, at most


@dataclass(frozen=True)
class Carrying:
    """A word that speaks for the likeliest class, or below zero against it."""

    text: str
    start: int
    end: int
    score: float
    part: int = 0  # 1: it stands in the second text of a pair

    def to_dict(self) -> dict[str, Any]:
        """The word as JSON has it.

        >>> Carrying("warm", 2, 6, 0.7).to_dict()
        {'text': 'warm', 'start': 2, 'end': 6, 'score': 0.7, 'part': 0}
        """
        return {"text": self.text, "start": self.start, "end": self.end, "score": self.score, "part": self.part}


def carrying_words(opened: "ServingFolder | ModelFolder", example: TextExample) -> tuple[Carrying, ...]:
    """The words behind the likeliest class of an example, the strongest first; marks are no words."""
    if isinstance(opened, ServingFolder):
        raise InputError("a serving folder, which cannot explain", wanted="the model folder that it was made of")
    if not (has_word(example.text) or has_word(example.pair or "")):
        return ()
    from unmask.explain.explaining import explain

    told = explain(opened, example, orders=1)
    found = [
        Carrying(word.text, word.start, word.end, score, word.part)
        for word, score in zip(told.words, told.scores, strict=True)
        if has_word(word.text)
    ]
    return tuple(sorted(found, key=lambda word: -abs(word.score))[:WORDS])


def has_word(text: str) -> bool:
    """Whether anything in a text can be a word.

    >>> has_word("A warm film."), has_word("?! ...")
    (True, False)
    """
    return any(character.isalnum() for character in text)
