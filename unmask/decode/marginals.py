"""How likely each label of each word is under a linear chain: the share of all paths that pass through it.

Scores of words and of steps come in, as for the best path (`tags.py`); probabilities go out (forward-backward).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unmask.decode.labels import softmax
from unmask.decode.words import Floats


def marginals(
    scores: Floats, lengths: Sequence[int], transitions: Floats, start: Floats, end: Floats
) -> NDArray[np.float64]:
    """The probability of every label of every word; sentences of these lengths stand end to end.

    >>> never = -np.inf
    >>> marginals(np.zeros((2, 2)), [2], np.array([[0, 0], [0, never]]), np.zeros(2), np.zeros(2)).round(3)
    array([[0.667, 0.333],
           [0.667, 0.333]])
    """  # (T, K), (B,), (K, K) from row to column, (K,), (K,) -> (T, K)
    ends = np.cumsum(lengths, dtype=np.intp)
    backwards = np.concatenate(
        [np.arange(0), *(np.arange(e - 1, e - n - 1, -1) for n, e in zip(lengths, ends, strict=True))]
    )
    before = _reached(scores, lengths, transitions, start)
    after = _reached(scores[backwards], lengths, transitions.T, end)[backwards]
    return softmax(before + after - scores)  # the word's own score is in both


def _reached(scores: Floats, lengths: Sequence[int], transitions: Floats, start: Floats) -> NDArray[np.float64]:
    """The logarithm of what all paths up to each word and label sum to; a step advances all sentences at once."""
    sizes = np.asarray(lengths, np.intp)
    firsts = np.cumsum(sizes) - sizes
    reached = scores.astype(np.float64)
    for step in range(sizes.max(initial=0)):
        words = firsts[sizes > step] + step
        reached[words] += start if step == 0 else np.logaddexp.reduce(reached[words - 1, :, None] + transitions, axis=1)
    return reached
