"""How far a score can be trusted, by its name: expected and given answers in, the 95 % interval out."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmask.tasks import metrics

DRAWN = 5_000_000  # examples in all resamplings together: enough for an interval, and no more than seconds of work
ROUNDS = (200, 1000)


def interval_of(metric: str, expected: ArrayLike, given: ArrayLike) -> tuple[float, float]:
    """The interval of a metric of `metrics`; of several labels a text, where both are (N, labels) of yes and no.

    >>> low, high = interval_of("accuracy", ["a"] * 100, ["a"] * 80 + ["b"] * 20)
    >>> 0.70 < low < 0.74 and 0.86 < high < 0.90
    True
    """
    wanted, said = np.asarray(expected), np.asarray(given)
    if wanted.ndim == 2:
        return interval(np.stack([wanted & said, wanted, said], axis=-1), _F1_OF_LABELS[metric])
    if metric in ("accuracy", "micro_f1"):
        return interval(wanted == said)
    return interval(np.stack([wanted, said], axis=1), _each(metrics.METRICS[metric]))


def interval(
    values: ArrayLike, statistic: Callable[[NDArray[Any]], NDArray[np.float64]] = metrics.mean
) -> tuple[float, float]:
    """The interval of a statistic, by fewer resamplings the more examples there are."""
    rounds = int(np.clip(DRAWN // max(len(np.asarray(values)), 1), *ROUNDS))
    return metrics.bootstrap_interval(values, statistic, rounds=rounds)


def _each(metric: Callable[[Any, Any], float]) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """A metric of one set of answers as a statistic of many."""  # (R, N, 2) -> (R,)
    return lambda sample: np.array([metric(drawn[:, 0], drawn[:, 1]) for drawn in sample])


def _micro(sample: NDArray[Any]) -> NDArray[np.float64]:
    """F1 over all labels together."""  # (R, N, labels, 3) -> (R,)
    return metrics.f1_of_counts(*np.moveaxis(sample.sum((1, 2)), -1, 0))


def _macro(sample: NDArray[Any]) -> NDArray[np.float64]:
    """F1 of each label, averaged."""  # (R, N, labels, 3) -> (R,)
    means: NDArray[np.float64] = metrics.f1_of_counts(*np.moveaxis(sample.sum(1), -1, 0)).mean(-1)
    return means


_F1_OF_LABELS = {"micro_f1": _micro, "macro_f1": _macro}
