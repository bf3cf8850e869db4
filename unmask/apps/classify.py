"""Classes of texts with a confidence that can be believed: texts in, a label for each out, or none where it is unsure.

The confidence is the likeliest class's probability under the temperature that fine-tuning fitted on held-out examples:
of answers that are 90 % sure, about 90 of 100 are right.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.carrying import Carrying, carrying_words
from unmask.apps.predict import Predictor, open_any
from unmask.apps.reading import Report
from unmask.apps.refusing import Refused, fault_of_words
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder
    from unmask.runtime.folder import ServingFolder


@dataclass(frozen=True)
class Judged:
    """The class of a text, or that it is too close to call."""

    label: str | None
    confidence: float  # of the likeliest class
    probabilities: dict[str, float]
    abstained: bool = False
    words: tuple[Carrying, ...] | None = None  # the strongest first; none if nobody asked

    @classmethod
    def of(cls, probabilities: dict[str, float]) -> "Judged":
        """The likeliest class.

        >>> Judged.of({"bad": 0.4, "good": 0.6}).label
        'good'
        """
        label = max(probabilities, key=probabilities.__getitem__)
        return cls(label, probabilities[label], probabilities)

    def or_none_below(self, confidence: float) -> "Judged":
        """The same, but no label where it is less sure than this.

        >>> Judged.of({"bad": 0.4, "good": 0.6}).or_none_below(0.8).abstained
        True
        """
        return replace(self, label=None, abstained=True) if self.confidence < confidence else self

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> Judged(None, 0.5, {"bad": 0.5, "good": 0.5}, abstained=True).to_dict()["label"] is None
        True
        """
        sure = {"label": self.label, "confidence": self.confidence, "abstained": self.abstained}
        told = {**sure, "probabilities": self.probabilities}
        return told if self.words is None else {**told, "words": [word.to_dict() for word in self.words]}


@dataclass(frozen=True)
class Classify:
    """A classifier that may say nothing."""

    predictor: Predictor
    abstain_below: float = 0.0  # confidence under which no label is given
    opened: "ServingFolder | ModelFolder | None" = None  # the model that is asked for the words

    def __post_init__(self) -> None:
        check_classes(self.predictor)
        if not 0 <= self.abstain_below <= 1:
            raise InputError(f"a confidence of {self.abstain_below}", wanted="a number from 0 to 1")

    @classmethod
    def of(
        cls, opened: "ServingFolder | ModelFolder", name: str = "the model", *, abstain_below: float = 0.0
    ) -> "Classify":
        """The classifier of an opened model."""
        return cls(Predictor.of(opened, name), abstain_below, opened)

    @classmethod
    def open(
        cls, name: Path | str, *, abstain_below: float = 0.0, device: str = "cpu", threads: int | None = None
    ) -> "Classify":
        """The classifier of a model folder, a serving folder or a named model."""
        return cls.of(open_any(name, device=device, threads=threads), str(name), abstain_below=abstain_below)

    def __call__(self, text: str, pair: str | None = None, *, words: bool = False) -> Judged:
        """The class of one text or pair; one that cannot be read is an error."""
        found = self.many([text if pair is None else (text, pair)], words=words)[0]
        if isinstance(found, Refused):
            raise InputError(found.error.removeprefix("got "))
        return found

    def many(
        self, texts: Sequence[Any], *, words: bool = False, report: Report = lambda *_: None
    ) -> list[Judged | Refused]:
        """A class for each text, pair of texts or example, or what is wrong with it."""
        examples = [self.predictor.example(text) for text in texts]
        answers = self.predictor.many(examples, report=report)
        return [
            answer if isinstance(answer, Refused) else self._judged(answer.probabilities, example, words)
            for answer, example in zip(answers, examples, strict=True)
        ]

    def with_words(self, judged: Judged, example: Any) -> Judged:
        """The same with the words that carried it."""
        assert self.opened is not None, "words are asked of the model itself"
        return replace(judged, words=carrying_words(self.opened, example))

    def _judged(self, probabilities: dict[str, float], example: Any, words: bool) -> Judged | Refused:
        """What is said of an example; a text without words has no class, whatever a model says of nothing."""
        empty = fault_of_words(example.text)
        if empty is not None:
            return empty
        sure = Judged.of(probabilities).or_none_below(self.abstain_below)
        return self.with_words(sure, example) if words else sure


def check_classes(predictor: Predictor) -> None:
    """Refuses models that do not give each text one class."""
    if predictor.task.kind != "classify" or predictor.about.multi_label:
        kind = "several labels a text" if predictor.about.multi_label else f"{predictor.task.kind!r}"
        raise InputError(f"a model for {kind}", wanted="one that gives each text one class", do="use unmask predict")
