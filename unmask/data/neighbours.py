"""How often pieces stand near each other: tokens in, tables of counts out, near neighbours counting more.

Documents are taken evenly from all of a text until there is enough to count, so that the work is bounded. They are
counted as they lie, end to end: the few pairs across borders do not matter.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unmask.data.pairs import Text
from unmask.data.ragged import Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WINDOW = 5  # how far a neighbour may be
BLOCK = 1 << 22  # tokens at a time


@dataclass(frozen=True)
class Neighbours:
    """What was counted in a text."""

    pieces: Integers  # (V,) how often each piece occurs
    near: "csr_array"  # (V, V) how often two stand near each other, symmetric


def count_neighbours(ids: Integers, size: int) -> Neighbours:
    """Counts tokens; a neighbour at distance d counts 1/d. `size` is that of the vocabulary.

    >>> found = count_neighbours(np.array([1, 2, 3]), 4)
    >>> found.pieces.tolist(), found.near.toarray()[1].tolist()
    ([0, 1, 1, 1], [0.0, 0.0, 1.0, 0.5])
    """
    from scipy.sparse import coo_array, csr_array

    near = csr_array((size, size), dtype=np.float32)
    for start in range(0, len(ids), BLOCK):
        block = ids[start : start + BLOCK]
        for distance in range(1, min(WINDOW, len(block) - 1) + 1):
            weights = np.full(len(block) - distance, 1 / distance, dtype=np.float32)
            near = near + coo_array((weights, (block[:-distance], block[distance:])), shape=(size, size)).tocsr()
    return Neighbours(np.bincount(ids, minlength=size), (near + near.T).tocsr())


def some_tokens(text: Text, documents: Integers, most: int) -> Integers:
    """The ids of evenly spaced documents, about `most` of them."""  # (T,)
    borders = text.sentence_tokens[text.document_sentences]  # (documents + 1,)
    starts, stops = borders[documents], borders[documents + 1]
    every = max(1, -(-int((stops - starts).sum()) // most))
    found: list[NDArray[np.integer]] = [
        text.tokens(int(start), int(stop)) for start, stop in zip(starts[::every], stops[::every], strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)
