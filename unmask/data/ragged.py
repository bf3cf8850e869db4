"""Batches without padding: the ids of all sequences end to end, shortest sequence first, and where each one lies.

Sorting by length puts sequences of equal length side by side, where attention can see them as one stack, uncopied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Ragged:
    """B sequences of T tokens in all, sorted by length.

    >>> batch = pack([[7, 8, 9], [4]])
    >>> batch.ids, batch.lengths, batch.order
    (array([4, 7, 8, 9]), array([1, 3]), array([1, 0]))
    """

    ids: Integers  # (T,)
    segments: Integers  # (T,)
    lengths: Integers  # (B,)
    order: Integers  # (B,) sequence i here was sequence order[i] of the caller

    @cached_property
    def starts(self) -> Integers:
        """Where each sequence begins: its [CLS]."""  # (B,)
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def positions(self) -> Integers:
        """Each token's place in its own sequence."""  # (T,)
        return np.arange(len(self.ids)) - np.repeat(self.starts, self.lengths)

    @cached_property
    def stacks(self) -> tuple[tuple[int, int], ...]:
        """Runs of equal length, in order: (how many sequences, their length).

        >>> pack([[1], [2], [3, 4]]).stacks
        ((2, 1), (1, 2))
        """
        return tuple((len(list(run)), int(length)) for length, run in groupby(self.lengths.tolist()))

    def restore(self, rows: NDArray[np.generic]) -> NDArray[np.generic]:
        """Puts one row per sequence back into the caller's order."""
        restored = np.empty_like(rows)
        restored[self.order] = rows
        return restored

    def split(self, rows: NDArray[np.generic]) -> list[NDArray[np.generic]]:
        """Cuts one row per token into one array per sequence, in the caller's order."""
        parts = np.split(rows, np.cumsum(self.lengths)[:-1])
        return [parts[place] for place in np.argsort(self.order)]


def pack(sequences: Sequence[Sequence[int]], segments: Sequence[Sequence[int]] | None = None) -> Ragged:
    """Puts sequences of ids end to end, shortest first; segments are 0 unless given.

    >>> pack([[1, 2]], [[0, 1]]).segments
    array([0, 1])
    """
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    ids = np.concatenate([np.asarray(sequences[i], dtype=np.int64) for i in order])
    if segments is None:
        return Ragged(ids, np.zeros_like(ids), lengths[order], order)
    return Ragged(ids, np.concatenate([np.asarray(segments[i], dtype=np.int64) for i in order]), lengths[order], order)


def sort_by_length(ids: Integers, segments: Integers, lengths: Integers) -> tuple[Ragged, Integers]:
    """The same from flat arrays of sequences end to end; also gives where each of the new tokens stood before.

    >>> batch, places = sort_by_length(np.array([7, 8, 4]), np.zeros(3, int), np.array([2, 1]))
    >>> batch.ids, places
    (array([4, 7, 8]), array([2, 0, 1]))
    """
    order = np.argsort(lengths, kind="stable")
    starts = np.cumsum(lengths) - lengths
    sorted_lengths = lengths[order]
    sorted_starts = np.cumsum(sorted_lengths) - sorted_lengths
    places = np.arange(len(ids)) + np.repeat(starts[order] - sorted_starts, sorted_lengths)
    return Ragged(ids[places], segments[places], sorted_lengths, order), places
