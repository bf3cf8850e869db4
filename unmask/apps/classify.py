"""Classes of texts with a confidence that can be believed: texts in, a label for each out, or none where it is unsure.

The confidence is the likeliest class's probability under the temperature that fine-tuning fitted on held-out examples:
of answers that are 90 % sure, about 90 of 100 are right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.apps.predict import Predictor
from unmask.apps.reading import Report
from unmask.apps.refusing import Refused
from unmask.errors import InputError


@dataclass(frozen=True)
class Judged:
    """The class of a text, or that it is too close to call."""

    label: str | None
    confidence: float  # of the likeliest class
    probabilities: dict[str, float]
    abstained: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> Judged(None, 0.5, {"bad": 0.5, "good": 0.5}, abstained=True).to_dict()["label"] is None
        True
        """
        sure = {"label": self.label, "confidence": self.confidence, "abstained": self.abstained}
        return {**sure, "probabilities": self.probabilities}


@dataclass(frozen=True)
class Classify:
    """A classifier that may say nothing."""

    predictor: Predictor
    abstain_below: float = 0.0  # confidence under which no label is given

    def __post_init__(self) -> None:
        check_classes(self.predictor)
        if not 0 <= self.abstain_below <= 1:
            raise InputError(f"a confidence of {self.abstain_below}", wanted="a number from 0 to 1")

    @classmethod
    def open(
        cls, name: Path | str, *, abstain_below: float = 0.0, device: str = "cpu", threads: int | None = None
    ) -> "Classify":
        """The classifier of a model folder, a serving folder or a named model."""
        return cls(Predictor.open(name, device=device, threads=threads), abstain_below)

    def __call__(self, text: str, pair: str | None = None) -> Judged:
        """The class of one text or pair; one that cannot be read is an error."""
        found = self.many([text if pair is None else (text, pair)])[0]
        if isinstance(found, Refused):
            raise InputError(found.error.removeprefix("got "))
        return found

    def many(self, texts: Sequence[Any], *, report: Report = lambda *_: None) -> list[Judged | Refused]:
        """A class for each text, pair of texts or example, or what is wrong with it."""
        examples = [self.predictor.example(text) for text in texts]
        answers = self.predictor.many(examples, report=report)
        return [answer if isinstance(answer, Refused) else self._judged(answer.probabilities) for answer in answers]

    def _judged(self, probabilities: dict[str, float]) -> Judged:
        label = max(probabilities, key=probabilities.__getitem__)
        unsure = probabilities[label] < self.abstain_below
        return Judged(None if unsure else label, probabilities[label], probabilities, unsure)


def check_classes(predictor: Predictor) -> None:
    """Refuses models that do not give each text one class."""
    if predictor.task.kind != "classify" or predictor.about.multi_label:
        kind = "several labels a text" if predictor.about.multi_label else f"{predictor.task.kind!r}"
        raise InputError(f"a model for {kind}", wanted="one that gives each text one class", do="use unmask predict")
