"""Which vectors are nearest: unit vectors in, for each query the places and cosines of the best out. Exact, in blocks.

Memory is that of one block of cosines, whatever the number of vectors: a million of width 384 are read once a query.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unmask.decode.words import Floats

Integers = NDArray[np.int64]

QUERIES, VECTORS = 256, 16_384  # of a block: 16 MB of cosines


class Nearest:
    """Vectors of length one, to be searched.

    >>> nearest = Nearest(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))
    >>> places, cosines = nearest.best(np.array([[0.0, 1.0]]), top=2)
    >>> places.tolist(), cosines.tolist()
    ([[1, 2]], [[1.0, 0.8]])
    """

    def __init__(self, vectors: Floats) -> None:
        assert vectors.ndim == 2, f"vectors of shape {vectors.shape}"
        self.vectors = vectors  # (N, D)

    def best(self, queries: Floats, top: int) -> tuple[Integers, Floats]:
        """The places of the nearest vectors of each query and their cosines, the best first; no more than there are."""
        found = [self._best(block, top) for block in _blocks(queries, QUERIES)]
        top = min(top, len(self.vectors))
        if not found:
            return np.empty((0, top), np.int64), np.empty((0, top), np.float32)
        places, cosines = zip(*found, strict=True)
        return np.concatenate(places), np.concatenate(cosines)

    def pairs(self, at_least: float) -> Iterator[tuple[Integers, Integers, Floats]]:
        """All pairs of places, the earlier first, whose cosine is at least so high: a block of them at a time.

        >>> nearest = Nearest(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))
        >>> [(firsts.tolist(), seconds.tolist()) for firsts, seconds, _ in nearest.pairs(0.7)]
        [([1], [2])]
        """
        for row in range(0, len(self.vectors), QUERIES):
            for column in range(row, len(self.vectors), VECTORS):
                block = self.vectors[row : row + QUERIES] @ self.vectors[column : column + VECTORS].T
                firsts, seconds = np.nonzero(block >= at_least)
                later = firsts + row < seconds + column
                firsts, seconds = firsts[later], seconds[later]
                if len(firsts):
                    yield firsts + row, seconds + column, block[firsts, seconds]

    def _best(self, queries: Floats, top: int) -> tuple[Integers, Floats]:
        """The same for a block of queries: of every block of vectors the best are kept, beside those so far."""
        places = np.empty((len(queries), 0), np.int64)
        cosines = np.empty((len(queries), 0), np.float32)
        for start in range(0, len(self.vectors), VECTORS):
            here = queries @ self.vectors[start : start + VECTORS].T  # (queries, vectors)
            chosen = _highest(here, top)
            places = np.concatenate([places, chosen + start], axis=1)
            cosines = np.concatenate([cosines, np.take_along_axis(here, chosen, 1)], axis=1)
        order = np.lexsort((places, -cosines))[:, :top]  # of equals the earlier
        return np.take_along_axis(places, order, 1), np.take_along_axis(cosines, order, 1)


def _highest(scores: Floats, top: int) -> Integers:
    """The columns of each row's highest scores, in no order."""
    if top >= scores.shape[1]:
        return np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return np.argpartition(-scores, top - 1, axis=1)[:, :top]


def _blocks(vectors: Floats, size: int) -> Iterator[Floats]:
    return (vectors[start : start + size] for start in range(0, len(vectors), size))
