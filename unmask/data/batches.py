"""Many sequences cut into batches of a bounded number of tokens, sequences of like length together."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from unmask.data.ragged import Integers, Ragged, pack

BATCH_TOKENS = 2048  # fills the matrix products; more than that only leaves the cache


def batches_by_length(
    sequences: Sequence[Sequence[int]], segments: Sequence[Sequence[int]] | None = None, *, tokens: int = BATCH_TOKENS
) -> Iterator[tuple[Integers, Ragged]]:
    """Batches of at most `tokens` tokens (or of one sequence), shortest first; row i of one is sequence `which[i]`.

    >>> [(which.tolist(), batch.ids.tolist()) for which, batch in batches_by_length([[1, 2], [3], [4, 5]], tokens=3)]
    [([1, 0], [3, 1, 2]), ([2], [4, 5])]
    """
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    for run in runs(lengths[order].tolist(), tokens):
        which = order[run]
        theirs = None if segments is None else [segments[i] for i in which]
        yield which, pack([sequences[i] for i in which], theirs)


def runs(lengths: Iterable[int], tokens: int) -> Iterator[slice]:
    """Consecutive slices whose lengths sum to at most `tokens`; what is longer than that stands alone.

    >>> list(runs([2, 2, 3, 9, 1], 5))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    start = end = held = 0
    for end, length in enumerate(lengths):
        if end > start and held + length > tokens:
            yield slice(start, end)
            start, held = end, 0
        held += length
    if held:
        yield slice(start, end + 1)
