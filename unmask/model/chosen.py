"""Tokens that are read off the last layer, as its queries: places in a ragged batch in, equal numbers a sequence out.

Attention works on groups of sequences, so all sequences of a group ask equally often: one that has fewer chosen tokens
than its neighbours asks its last one again, and that answer is left aside.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unmask.data.ragged import Integers, Ragged
from unmask.model.groups import Groups


@dataclass(frozen=True)
class Chosen:
    """R tokens of a batch, at least one of each sequence."""

    places: Tensor  # (R,) where they are among all tokens, in order
    slots: Tensor  # (Q,) which of the R asks, group after group, sequence after sequence
    back: Tensor  # (R,) the slot in which each of the R asks first
    queries: tuple[int, ...]  # of a sequence, for each group


def choose(batch: Ragged, rows: Integers, groups: Groups, device: torch.device) -> Chosen:
    """The tokens at the given places, and each [CLS]: the pooler reads it, and no sequence is left without a query.

    >>> from unmask.data.ragged import pack
    >>> from unmask.model.groups import equal_lengths
    >>> batch = pack([[2, 7, 3], [2, 8, 3], [2, 9, 7, 3]])
    >>> chosen = choose(batch, np.array([2, 1]), equal_lengths(batch.stacks), torch.device("cpu"))
    >>> chosen.places.tolist(), chosen.queries
    ([0, 1, 2, 3, 6], (3, 1))
    >>> chosen.slots.tolist(), chosen.back.tolist()
    ([0, 1, 2, 3, 3, 3, 4], [0, 1, 2, 3, 6])
    """
    places = np.union1d(rows, batch.starts)
    owners = np.searchsorted(batch.starts, places, side="right") - 1  # (R,) the sequence of each
    counts = np.bincount(owners)  # (B,)
    first = np.cumsum(counts) - counts  # (B,) of a sequence's tokens among the R
    sizes = np.array([group.count for group in groups])
    queries = np.maximum.reduceat(counts, np.cumsum(sizes) - sizes)
    asked = np.repeat(queries, sizes)  # (B,)
    begins = np.cumsum(asked) - asked  # (B,) of a sequence's slots
    turns = np.arange(asked.sum()) - np.repeat(begins, asked)  # (Q,) counted in the own sequence
    slots = np.repeat(first, asked) + np.minimum(turns, np.repeat(counts, asked) - 1)
    back = np.arange(len(places)) + (begins - first)[owners]
    on_device = [torch.from_numpy(part).to(device, non_blocking=True) for part in (places, slots, back)]
    return Chosen(on_device[0], on_device[1], on_device[2], tuple(queries.tolist()))
