"""Is one thing higher than another on the same examples? Differences come in, a p-value goes out.

The sign-flip test: if nothing but chance made the differences, each could as well have had the other sign. All signs
are tried where there are few examples; else many are drawn, and the p-value is never below one in the draws.
"""

import numpy as np
from numpy.typing import ArrayLike

DRAWS = 20_000
MOST_TRIED = 14  # differences of which all signs are tried, 16,384
ROUNDING = 1e-12


def paired_p(differences: ArrayLike, *, draws: int = DRAWS, seed: int = 0) -> float:
    """How often signs at random give a mean as far from zero, on either side.

    >>> paired_p([0.1, 0.2, 0.3])  # two of eight: all plus, all minus
    0.25
    >>> paired_p([0.1, -0.1] * 50)
    1.0
    """
    values = np.asarray(differences, np.float64)
    count = len(values)
    if count <= MOST_TRIED:
        signs = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)  # the first: all as they are
    else:
        drawn = np.random.default_rng(seed).integers(0, 2, (draws, count), dtype=np.int8)
        signs = np.vstack([np.ones((1, count)), 1.0 - 2.0 * drawn])
    means = np.abs(signs @ values)
    return float((means >= means[0] - ROUNDING).mean())
