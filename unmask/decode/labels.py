"""Logits -> classes and values, with probabilities that can be believed: a temperature fitted on held-out answers.

In: the scores of each text's classes. Out: frozen answers whose `to_dict` is what users and scripts read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmask.decode.words import Floats, log_softmax

TEMPERATURES = (0.05, 20.0)  # beyond these the held-out answers are all right or all chance, and any number would do


@dataclass(frozen=True)
class Classified:
    """One class of several, and how likely each was."""

    label: str | None
    probabilities: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> Classified("good", {"bad": 0.25, "good": 0.75}).to_dict()
        {'label': 'good', 'probabilities': {'bad': 0.25, 'good': 0.75}}
        """
        return {"label": self.label, "probabilities": self.probabilities}


@dataclass(frozen=True)
class MultiLabelled:
    """All classes that apply, each judged for itself."""

    labels: tuple[str, ...]
    probabilities: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> MultiLabelled(("warm",), {"warm": 0.9, "dry": 0.2}).to_dict()
        {'labels': ['warm'], 'probabilities': {'warm': 0.9, 'dry': 0.2}}
        """
        return {"labels": list(self.labels), "probabilities": self.probabilities}


@dataclass(frozen=True)
class Valued:
    """A number."""

    value: float

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> Valued(4.5).to_dict()
        {'value': 4.5}
        """
        return {"value": self.value}


def softmax(logits: Floats) -> NDArray[np.float64]:
    """The probabilities that scores stand for, along the last axis.

    >>> softmax(np.array([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    probabilities: NDArray[np.float64] = np.exp(log_softmax(logits))
    return probabilities


def sigmoid(logits: Floats) -> NDArray[np.float64]:
    """The probability of yes that each score stands for.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    # exp of minus the magnitude never overflows; the two branches of the formula share it
    small = np.exp(-np.abs(logits.astype(np.float64)))
    probabilities: NDArray[np.float64] = np.where(logits >= 0, 1.0, small) / (1.0 + small)
    return probabilities


def classified(logits: Floats, labels: Sequence[str], *, temperature: float = 1.0) -> list[Classified]:
    """The likeliest class of each row; of equals the first.

    >>> classified(np.log([[0.25, 0.75]]), ["bad", "good"])[0].label
    'good'
    """  # (N, C)
    probabilities = softmax(logits / temperature)
    best = logits.argmax(-1)
    return [
        Classified(labels[winner], dict(zip(labels, row, strict=True)))
        for winner, row in zip(best.tolist(), probabilities.tolist(), strict=True)
    ]


def multi_labelled(
    logits: Floats, labels: Sequence[str], *, threshold: float | Mapping[str, float] = 0.5
) -> list[MultiLabelled]:
    """Every class whose probability reaches its threshold; a class that the mapping leaves out has 0.5.

    >>> multi_labelled(np.array([[2.0, -2.0]]), ["warm", "dry"], threshold={"dry": 0.1})[0].labels
    ('warm', 'dry')
    """  # (N, C)
    limits = [threshold.get(label, 0.5) if isinstance(threshold, Mapping) else threshold for label in labels]
    answers = []
    for row in sigmoid(logits).tolist():
        chosen = tuple(label for label, p, limit in zip(labels, row, limits, strict=True) if p >= limit)
        answers.append(MultiLabelled(chosen, dict(zip(labels, row, strict=True))))
    return answers


def valued(outputs: Floats) -> list[Valued]:
    """The number of each row, whether the rows are numbers or have one column.

    >>> valued(np.array([[0.5], [3.0]]))
    [Valued(value=0.5), Valued(value=3.0)]
    """  # (N,) or (N, 1)
    return [Valued(value) for value in outputs.astype(np.float64).reshape(len(outputs)).tolist()]


def fit_temperature(logits: Floats, label_indices: ArrayLike) -> float:
    """The temperature under which held-out labels are likeliest (Guo et al. 2017); over 1 tempers overconfidence.

    >>> logits = np.log([[0.99, 0.01]] * 4)  # 99 % sure, and right three times of four
    >>> round(fit_temperature(logits, [0, 0, 0, 1]), 3)  # softmax(logits / 4.183) = 75 %
    4.183
    """  # (N, C), (N,)
    scores = logits.astype(np.float64)
    right = scores[np.arange(len(scores)), np.asarray(label_indices)]
    # The loss is convex in the inverse temperature; its slope there is the mean of expected less right scores,
    # so halving the interval where the slope changes its sign cannot fail.
    low, high = np.log(1 / TEMPERATURES[1]), np.log(1 / TEMPERATURES[0])
    for _ in range(50):
        middle = (low + high) / 2
        slope = np.mean((softmax(scores * np.exp(middle)) * scores).sum(-1) - right)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return float(np.exp(-(low + high) / 2))


@dataclass(frozen=True)
class Calibration:
    """How sure a model was and how often it was right, by bins of confidence: a reliability diagram."""

    edges: tuple[float, ...]  # one more than bins; a bin holds confidences above its lower edge up to its upper
    counts: tuple[int, ...]
    confidences: tuple[float, ...]  # the mean of each bin; 0 where it is empty
    accuracies: tuple[float, ...]  # the share that was right; 0 where it is empty
    expected_error: float  # |accuracy - confidence|, averaged over answers


def calibration(probabilities: ArrayLike, right: ArrayLike, *, bins: int = 15) -> Calibration:
    """The probabilities of given answers beside whether they were right, and the expected calibration error.

    >>> calibration([1.0, 1.0, 1.0, 1.0], [True, True, True, False]).expected_error
    0.25
    """  # (N,), (N,)
    confidence, hits = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    edges = np.linspace(0, 1, bins + 1)
    places = np.searchsorted(edges[1:-1], confidence, side="left")
    counts = np.bincount(places, minlength=bins)
    sure = np.bincount(places, confidence, minlength=bins)
    correct = np.bincount(places, hits, minlength=bins)
    each = np.maximum(counts, 1)
    error = np.abs(correct - sure).sum() / max(len(confidence), 1)
    return Calibration(
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        confidences=tuple((sure / each).tolist()),
        accuracies=tuple((correct / each).tolist()),
        expected_error=float(error),
    )
