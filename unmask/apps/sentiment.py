"""Sentiment: texts in, positive, negative or neutral for each out, how sure that is, and on request the words behind.

A model of three classes says itself what is neutral. One of two has never seen it: there a text is called neutral when
neither side reaches a probability (`NEUTRAL_BELOW`, measured in the record of sentiment).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.classify import Classify, Judged
from unmask.apps.predict import Predictor, open_any
from unmask.apps.reading import Report
from unmask.apps.refusing import Refused
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

MODEL = "default:sentiment"
NEUTRAL_BELOW = 0.75  # of a model of two classes
WORDS = 5  # that are shown, at most
NAMES = {
    "positive": ("positive", "pos", "1", "正面", "积极", "正"),
    "negative": ("negative", "neg", "0", "负面", "消极", "负"),
    "neutral": ("neutral", "neu", "中性", "中立"),
}
SIGNED = {"1": "positive", "0": "neutral", "-1": "negative"}


@dataclass(frozen=True)
class Carrying:
    """A word that speaks for the sentiment, or below zero against it."""

    text: str
    start: int
    end: int
    score: float

    def to_dict(self) -> dict[str, Any]:
        """The word as JSON has it."""
        return {"text": self.text, "start": self.start, "end": self.end, "score": self.score}


@dataclass(frozen=True)
class Felt:
    """The sentiment of a text, or that it is too close to call."""

    judged: Judged  # by positive, negative and perhaps neutral
    words: tuple[Carrying, ...] | None = None  # the strongest first; none if nobody asked

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> Felt(Judged("positive", 0.9, {"negative": 0.1, "positive": 0.9})).to_dict()["label"]
        'positive'
        """
        told = self.judged.to_dict()
        return told if self.words is None else {**told, "words": [word.to_dict() for word in self.words]}


class Sentiment:
    """A model of two or three classes that are sides of a feeling."""

    def __init__(
        self,
        opened: "ServingFolder | ModelFolder",
        name: str = "the model",
        *,
        abstain_below: float = 0.0,
        neutral_below: float = NEUTRAL_BELOW,
    ) -> None:
        if isinstance(opened, ServingFolder):
            predictor = Predictor.of_serving(opened, name)
        else:
            predictor = Predictor.of_model(opened, name)
        self.opened = opened
        self.classify = Classify(predictor, abstain_below)
        self.sides = sides_of(opened.about.labels)
        self.neutral_below = neutral_below

    @classmethod
    def open(
        cls, name: Path | str = MODEL, *, device: str = "cpu", threads: int | None = None, **limits: float
    ) -> "Sentiment":
        """The sentiment of a model folder, a serving folder or a named model."""
        return cls(open_any(name, device=device, threads=threads), str(name), **limits)

    def __call__(self, text: str, *, words: bool = False) -> Felt:
        """The sentiment of one text; one that cannot be read is an error."""
        found = self.many([text], words=words)[0]
        if isinstance(found, Refused):
            raise InputError(found.error.removeprefix("got "))
        return found

    def many(
        self, texts: Sequence[Any], *, words: bool = False, report: Report = lambda *_: None
    ) -> list[Felt | Refused]:
        """The sentiment of each text or example, or what is wrong with it."""
        judged = self.classify.many(texts, report=report)
        felt = [one if isinstance(one, Refused) else Felt(self._of_sides(one)) for one in judged]
        if not words:
            return felt
        return [
            one if isinstance(one, Refused) else self._with_words(one, text)
            for one, text in zip(felt, texts, strict=True)
        ]

    def _of_sides(self, judged: Judged) -> Judged:
        """The same by sides; weak on both of two is neutral, unless it is too weak to say anything."""
        label = judged.label and self.sides[judged.label]
        if label and len(self.sides) == 2 and judged.confidence < self.neutral_below:
            label = "neutral"
        probabilities = {self.sides[name]: value for name, value in judged.probabilities.items()}
        return replace(judged, label=label, probabilities=probabilities)

    def _with_words(self, felt: Felt, text: Any) -> Felt:
        from unmask.explain.explaining import explain

        if isinstance(self.opened, ServingFolder):
            raise InputError("a serving folder, which cannot explain", wanted="the model folder that it was made of")
        example = self.classify.predictor.example(text)
        told = explain(self.opened, example, orders=1)
        found = [
            Carrying(word.text, word.start, word.end, score)
            for word, score in zip(told.words, told.scores, strict=True)
            if any(character.isalnum() for character in word.text)
        ]
        return replace(felt, words=tuple(sorted(found, key=lambda word: -abs(word.score))[:WORDS]))


def sides_of(labels: Sequence[str]) -> Mapping[str, str]:
    """Which label is positive, negative or neutral; labels of anything else are refused.

    >>> sides_of(("0", "1")), sides_of(("负面", "中性", "正面"))["中性"]
    ({'0': 'negative', '1': 'positive'}, 'neutral')
    """
    known = {name: side for side, names in NAMES.items() for name in names}
    table = SIGNED if {*labels} == {*SIGNED} else known
    sides = {label: table.get(label.strip().lower(), "") for label in labels}
    if sorted(sides.values()) not in (["negative", "positive"], ["negative", "neutral", "positive"]):
        raise InputError(
            f"a model of the labels {', '.join(labels)}",
            wanted="positive and negative, perhaps neutral (also pos/neg, 1/0, 正面/负面)",
            do="use unmask classify",
        )
    return sides
