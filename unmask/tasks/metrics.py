"""Scores of given answers against expected ones, as GLUE and CLUE define them: fractions, never per cent.

In: two sequences of the same length. Out: a number; `METRICS` has them by name. `bootstrap_interval` says how far a
score on so many examples can be trusted.
"""

from collections.abc import Callable, Collection, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels = Sequence[Any] | NDArray[Any]
Counts = NDArray[np.int64]


def accuracy(expected: Labels, given: Labels) -> float:
    """The share of answers that are right.

    >>> accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.75
    """
    return float(np.mean(_paired(expected) == _paired(given, expected)))


def _paired(values: Labels, others: Labels | None = None) -> NDArray[Any]:
    assert others is None or len(values) == len(others), f"{len(values)} answers for {len(others)} examples"
    return np.asarray(values)


def _counts(expected: Labels, given: Labels) -> tuple[list[Any], Counts, Counts, Counts]:
    """All labels in order, and for each how often it was right, expected and given.

    >>> _counts(["a", "b"], ["b", "b"])
    (['a', 'b'], array([0, 1]), array([1, 1]), array([0, 2]))
    """
    wanted, answers = _paired(expected), _paired(given, expected)
    labels, numbers = np.unique(np.concatenate([wanted, answers]), return_inverse=True)
    wanted, answers = numbers[: len(wanted)], numbers[len(wanted) :]
    size = len(labels)
    right = np.bincount(wanted[wanted == answers], minlength=size)
    return labels.tolist(), right, np.bincount(wanted, minlength=size), np.bincount(answers, minlength=size)


def f1_of_counts(right: ArrayLike, expected: ArrayLike, given: ArrayLike) -> NDArray[np.float64]:
    """The harmonic mean of precision and recall from how many were right, expected and given; of nothing it is 0.

    >>> f1_of_counts([1, 0], [1, 0], [3, 0])
    array([0.5, 0. ])
    """
    total = np.asarray(expected, np.float64) + np.asarray(given, np.float64)
    shares: NDArray[np.float64] = 2.0 * np.asarray(right, np.float64) / np.where(total > 0, total, 1.0)
    return shares


def f1(expected: Labels, given: Labels, *, positive: Any = None) -> float:
    """F1 of one label, which is "1" (or 1) unless another is named, as for MRPC and QQP.

    >>> f1(["1", "1", "0", "0"], ["1", "0", "1", "0"])
    0.5
    """
    wanted, answers = _paired(expected), _paired(given, expected)
    if positive is None:
        positive = "1" if wanted.dtype.kind == "U" else 1
    hits = (wanted == positive) & (answers == positive)
    return float(f1_of_counts(hits.sum(), (wanted == positive).sum(), (answers == positive).sum()))


def macro_f1(expected: Labels, given: Labels) -> float:
    """F1 of each label that is expected or given, averaged: rare labels weigh as much as frequent ones.

    >>> macro_f1(["a", "a", "b"], ["a", "a", "a"])
    0.4
    """
    _, right, wanted, answers = _counts(expected, given)
    return float(f1_of_counts(right, wanted, answers).mean())


def micro_f1(expected: Labels, given: Labels) -> float:
    """F1 over all labels together, which is accuracy where each example has one label.

    >>> micro_f1(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.75
    """
    _, right, wanted, answers = _counts(expected, given)
    return float(f1_of_counts(right.sum(), wanted.sum(), answers.sum()))


def matthews(expected: Labels, given: Labels) -> float:
    """Matthews' correlation for any number of labels, as for CoLA; 0 where one side never varies.

    >>> matthews(["1", "1", "1", "0"], ["1", "1", "0", "0"])  # 2 / sqrt(12)
    0.5773502691896258
    """
    _, right, wanted, answers = _counts(expected, given)
    # Python's whole numbers stay exact at any size: the only rounding is in the last line
    total, hits, chance = len(expected), int(right.sum()), int(wanted @ answers)
    spread = (total**2 - int(wanted @ wanted)) * (total**2 - int(answers @ answers))
    return (hits * total - chance) / sqrt(spread) if spread else 0.0


def pearson(expected: ArrayLike, given: ArrayLike) -> float:
    """The correlation of two rows of numbers; 0 where one never varies.

    >>> round(pearson([1, 2, 3, 4], [1, 2, 3, 5]), 6)
    0.982708
    """
    ours, theirs = (np.asarray(values, np.float64) for values in (expected, given))
    if not (np.ptp(ours) and np.ptp(theirs)):
        return 0.0
    ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    return float(np.clip(ours @ theirs / sqrt((ours @ ours) * (theirs @ theirs)), -1, 1))


def spearman(expected: ArrayLike, given: ArrayLike) -> float:
    """The correlation of the ranks of two rows of numbers; equals share their mean rank.

    >>> spearman([1, 2, 3, 4], [10, 20, 25, 1000])
    1.0
    """
    return pearson(_ranks(expected), _ranks(given))


def _ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1; equals share their mean rank.

    >>> _ranks([7, 3, 7, 1])
    array([3.5, 2. , 3.5, 1. ])
    """
    _, places, counts = np.unique(np.asarray(values, np.float64), return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


METRICS: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
    "macro_f1": macro_f1,
    "micro_f1": micro_f1,
}


def multi_label_f1(
    expected: Sequence[Collection[str]], given: Sequence[Collection[str]], labels: Sequence[str] | None = None
) -> tuple[float, float]:
    """Micro and macro F1 where an example has any number of labels; `labels` are all that there are, if more than seen.

    >>> multi_label_f1([("warm", "dry"), ()], [("warm",), ("dry",)])
    (0.5, 0.5)
    """
    assert len(expected) == len(given), f"{len(given)} answers for {len(expected)} examples"
    names = sorted({name for row in (*expected, *given) for name in row} | set(labels or ()))
    table = np.array(
        [
            [name in wanted and name in answer, name in wanted, name in answer]
            for name in names
            for wanted, answer in zip(expected, given, strict=True)
        ]
    )
    counts = table.reshape(len(names), len(expected), 3).sum(1)  # (labels, 3): right, expected, given
    micro, macro = f1_of_counts(*counts.sum(0)), f1_of_counts(*counts.T)
    return float(micro), float(macro.mean()) if names else 0.0


def mean(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each resampling, the usual statistic.

    >>> mean(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([0.5, 1. ])
    """  # (R, N) -> (R,)
    means: NDArray[np.float64] = sample.mean(1)
    return means


def bootstrap_interval(
    per_example_values: ArrayLike,
    statistic: Callable[[NDArray[Any]], NDArray[np.float64]] = mean,
    *,
    seed: int = 0,
    rounds: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """The interval that holds the statistic in 95 % of resamplings of the examples (percentile bootstrap).

    A statistic takes many resamplings (R, N, …) and gives a number for each.

    >>> low, high = bootstrap_interval([1.0] * 80 + [0.0] * 20)
    >>> 0.70 < low < 0.74 and 0.86 < high < 0.90  # 0.80 +- 1.96 * 0.04
    True
    """  # (N, …)
    values = np.asarray(per_example_values)
    chance = np.random.default_rng(seed)
    together = max(1, 2_000_000 // max(1, values.size))  # resamplings at a time: bounded memory for any data set
    sizes = [min(together, rounds - done) for done in range(0, rounds, together)]
    draws = (chance.integers(0, len(values), (size, len(values))) for size in sizes)
    statistics = np.concatenate([statistic(values[drawn]) for drawn in draws])
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
