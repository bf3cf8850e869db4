"""Sentiment: texts in, positive, negative or neutral for each out, how sure that is, and on request the words behind.

A model of three classes says itself what is neutral. One of two has never seen it: there a text is called neutral when
neither side reaches a probability (`NEUTRAL_BELOW`, measured in the record of sentiment).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.classify import Classify, Judged
from unmask.apps.predict import open_any
from unmask.apps.reading import Report
from unmask.apps.refusing import Refused
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder
    from unmask.runtime.folder import ServingFolder

MODEL = "default:sentiment"
NEUTRAL_BELOW = 0.75  # of a model of two classes
NAMES = {
    "positive": ("positive", "pos", "1", "正面", "积极", "正"),
    "negative": ("negative", "neg", "0", "负面", "消极", "负"),
    "neutral": ("neutral", "neu", "中性", "中立"),
}
SIGNED = {"1": "positive", "0": "neutral", "-1": "negative"}


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
        self.classify = Classify.of(opened, name, abstain_below=abstain_below)
        self.sides = sides_of(opened.about.labels)
        self.neutral_below = neutral_below

    @classmethod
    def open(
        cls, name: Path | str = MODEL, *, device: str = "cpu", threads: int | None = None, **limits: float
    ) -> "Sentiment":
        """The sentiment of a model folder, a serving folder or a named model."""
        return cls(open_any(name, device=device, threads=threads), str(name), **limits)

    def __call__(self, text: str, *, words: bool = False) -> Judged:
        """The sentiment of one text; one that cannot be read is an error."""
        return self._felt(self.classify(text, words=words))

    def many(
        self, texts: Sequence[Any], *, words: bool = False, report: Report = lambda *_: None
    ) -> list[Judged | Refused]:
        """The sentiment of each text or example, or what is wrong with it."""
        judged = self.classify.many(texts, words=words, report=report)
        return [one if isinstance(one, Refused) else self._felt(one) for one in judged]

    def _felt(self, judged: Judged) -> Judged:
        """The same by sides."""
        probabilities = {self.sides[name]: value for name, value in judged.probabilities.items()}
        label = side_of(judged, self.sides, neutral_below=self.neutral_below)
        return replace(judged, label=label, probabilities=probabilities)


def side_of(judged: Judged, sides: Mapping[str, str], *, neutral_below: float = NEUTRAL_BELOW) -> str | None:
    """The side of a class; weak on both of two is neutral, unless it is too weak to say anything.

    >>> side_of(Judged.of({"neg": 0.4, "pos": 0.6}), sides_of(("neg", "pos")))
    'neutral'
    """
    if judged.label is None:
        return None
    weak = len(sides) == 2 and judged.confidence < neutral_below
    return "neutral" if weak else sides[judged.label]


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


def sides_in_words(labels: Sequence[str]) -> Mapping[str, str] | None:
    """The same of labels that say so in words, else none: of numbers nobody knows what they stand for.

    >>> sides_in_words(("neg", "pos")), sides_in_words(("0", "1")), sides_in_words(("news", "sports"))
    ({'neg': 'negative', 'pos': 'positive'}, None, None)
    """
    try:
        sides = sides_of(labels)
    except InputError:
        return None
    return None if any(label in SIGNED for label in map(str.strip, labels)) else sides
