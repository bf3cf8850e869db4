"""Rows cut into batches so that little padding is computed: lengths in, which rows go together out.

A batch costs its padded tokens and a fixed sum (operators are started, the weights are read once), and where lengths
differ also a mask in every layer. Of all ways to cut rows that are sorted by length, the cheapest is found: rows of one
length stay together, lengths share a batch where that costs less than another batch would. So padding is never more
than the fixed sum for each length that occurs.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unmask.data.cuts import Integers, cheapest_cuts
from unmask.data.rows import Row

BATCH_TOKENS = 512  # padded tokens of a batch: enough to fill the products, few enough to stay in the nearest caches
STARTING = 16  # what a batch costs beside its tokens, in tokens: measured, about 20 in float32 and 10 in int8
MASKED = (
    0.06  # share of its tokens that a mask costs: measured, 0.05 for 8 pieces, 0.2 for 300 in int8, half in float32
)


def batches(
    lengths: Sequence[int], *, tokens: int = BATCH_TOKENS, starting: int = STARTING
) -> Iterator[NDArray[np.int64]]:
    """Which rows go through together, shortest first; a batch has at most `tokens` padded tokens, or one row.

    >>> [which.tolist() for which in batches([3, 40, 3, 4, 40])]
    [[0, 2, 3], [1, 4]]
    """
    if len(lengths) == 1:  # the answer to one text should not wait for this
        yield np.zeros(1, dtype=np.int64)
        return
    given = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(given, kind="stable")
    distinct, counts = np.unique(given, return_counts=True)
    bounds = np.append(0, np.cumsum(counts))  # rows of the i-th length lie between bounds[i] and bounds[i + 1]
    costs = partial(_costs, tokens=tokens, starting=starting)
    for start, stop in cheapest_cuts(distinct, counts, costs):
        rows = order[bounds[start] : bounds[stop]]
        size = max(1, tokens // max(int(distinct[stop - 1]), 1))
        count = -(-len(rows) // size)  # equal shares: a last batch of two rows would be a waste
        yield from np.array_split(rows, count)


def padded(rows: Sequence[Row]) -> tuple[Integers, Integers, Integers]:
    """Ids, mask and segments of a batch; the ids and segments of padding are 0, as its mask.

    >>> padded([Row([2, 3], [0, 0], 0), Row([2, 7, 3], [0, 0, 1], 1)])[0].tolist()
    [[2, 3, 0], [2, 7, 3]]
    """
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, mask, segments = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for place, row in enumerate(rows):
        length = len(row.ids)
        ids[place, :length], mask[place, :length], segments[place, :length] = row.ids, 1, row.segments
    return ids, mask, segments


def _costs(longest: int, rows: Integers, *, tokens: int, starting: int) -> NDArray[np.float64]:
    """What so many rows cost together, in tokens; the last number of rows is that of one length, the others mix."""
    masked = np.full(len(rows), 1 + MASKED)
    masked[-1] = 1
    return starting * np.ceil(rows * longest / tokens) + masked * rows * longest
