"""What a method says of an example's words: a number for each, and how far the numbers themselves can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Attribution:
    """How much each word speaks for what is explained; below zero it speaks against it."""

    scores: Floats  # (W,)
    completeness_error: float | None = None  # |sum of scores - what all words together change|, where they should agree
    standard_errors: Floats | None = None  # (W,) of scores that were sampled
    steps: int | None = None  # of an integral


def side_by_side(found: Sequence[Attribution]) -> Attribution:
    """Attributions of an example's texts, which were explained apart, as one; error and steps are the largest.

    >>> side_by_side([Attribution(np.array([1.0]), 0.1), Attribution(np.array([2.0]), 0.3)])
    Attribution(scores=array([1., 2.]), completeness_error=0.3, standard_errors=None, steps=None)
    """
    errors = [one.standard_errors for one in found if one.standard_errors is not None]
    gaps = [one.completeness_error for one in found if one.completeness_error is not None]
    scores = np.concatenate([one.scores for one in found])
    steps = [one.steps for one in found if one.steps is not None]
    return Attribution(
        scores, max(gaps, default=None), np.concatenate(errors) if errors else None, max(steps, default=None)
    )
