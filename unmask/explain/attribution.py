"""What a method says of an example's words: a number for each, and how far the numbers themselves can be trusted."""

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
