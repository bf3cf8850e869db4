"""Runs of equal lengths, shortest first, cut into groups at the least cost: lengths and counts in, groups out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Costs = Callable[[int, Integers], NDArray[np.float64]]  # of so many rows padded to this length; the last are of one run


def cheapest_cuts(lengths: Integers, counts: Integers, costs: Costs) -> list[tuple[int, int]]:
    """The first run of each group and the one behind its last.

    best[j] is the least cost of the first j runs, whose last group begins with the run origin[j].

    >>> padding = lambda longest, rows: 10 + rows * longest
    >>> cheapest_cuts(np.array([3, 4, 40]), np.array([2, 1, 2]), padding)
    [(0, 2), (2, 3)]
    """
    bounds = np.concatenate([[0], np.cumsum(counts)])
    best, origin = np.zeros(len(bounds)), np.zeros(len(bounds), np.int64)
    for end in range(1, len(bounds)):
        tried = best[:end] + costs(int(lengths[end - 1]), bounds[end] - bounds[:end])
        origin[end] = np.argmin(tried)
        best[end] = tried[origin[end]]
    cuts, end = [], len(lengths)
    while end:
        cuts.append((int(origin[end]), end))
        end = int(origin[end])
    return cuts[::-1]
