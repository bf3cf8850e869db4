"""Pairs judged together: a model for pairs of texts in, a number for each pair out, higher where they fit better.

Vectors are made of each text for itself; a pair model reads both at once and sees what they differ in. It costs a pass
a pair, so it only orders the few best of a faster search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from unmask.apps.predict import Predictor
from unmask.apps.refusing import Refused
from unmask.apps.vectors import identity_of
from unmask.data.examples import TextExample
from unmask.decode.labels import Classified, Valued
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.model.named import find_model

LIKE = ("1", "yes", "true", "same", "similar", "duplicate", "paraphrase", "equivalent", "entailment")  # labels


@dataclass(frozen=True)
class Reranker:
    """A model that says how well two texts fit: the value of a regression, or the probability of a class."""

    predictor: Predictor
    label: str | None  # of the class that means alike; none for values
    name: str
    identity: str

    @classmethod
    def open(cls, name: Path | str, *, device: str = "cpu", threads: int | None = None) -> Self:
        """The reranker of a folder that was fine-tuned on pairs."""
        predictor = Predictor.open(name, device=device, threads=threads)
        kind, labels = predictor.task.kind, predictor.about.labels
        if kind not in ("classify", "regress") or predictor.about.multi_label:
            raise InputError(f"{name}, a model for {kind!r}", wanted="one that classifies pairs or gives them a value")
        label = like_label(labels, str(name)) if kind == "classify" else None
        return cls(predictor, label, str(name), identity_of(find_model(name)))

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """How well each pair fits."""
        answers = self.predictor.many([TextExample(*pair) for pair in pairs])
        return np.array([self._score(answer) for answer in answers], np.float32)

    def _score(self, answer: Classified | Valued | Refused) -> float:
        if isinstance(answer, Refused):
            raise InputError(answer.error.removeprefix("got "))
        if isinstance(answer, Valued):
            return answer.value
        assert self.label is not None
        return answer.probabilities[self.label]


def like_label(labels: Sequence[str], name: str) -> str:
    """The label that says of a pair that its texts are alike.

    >>> like_label(["0", "1"], "pairs"), like_label(["duplicate", "other"], "pairs")
    ('1', 'duplicate')
    """
    found = [label for label in labels if label.casefold() in LIKE]
    if len(found) != 1:
        got = f"{name} with the labels {', '.join(labels)}"
        raise InputError(got, wanted=f"one that means alike: {', '.join(LIKE)}", do="train it with --rename")
    return found[0]
