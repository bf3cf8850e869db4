"""Which sequences attend together: runs of equal length in, groups out, in which short sequences are padded.

A run of equal lengths needs no padding, but is a call of its own in every layer. Where sequences are short the calls
take longer than the work in them: then neighbouring lengths share one. Only attention sees the padding.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unmask.data.cuts import Integers, cheapest_cuts

Stacks = tuple[tuple[int, int], ...]  # (sequences, length) of each run of equal lengths
CALL, OWN_CALL = 4_000, 40_000  # attention probabilities that take as long as a call; our own attention makes many
SHARED = 2  # calls that a group of several lengths costs, as its tokens are laid apart and put together again


@dataclass(frozen=True)
class Group:
    """Sequences that are attended to as one stack."""

    count: int  # sequences
    length: int  # of the longest
    tokens: int  # in all
    places: Tensor | None = None  # (tokens,) where each stands among count · length; none: all sequences are as long
    sources: Tensor | None = None  # (count · length,) the token at each of these places, any where there is none
    seen: Tensor | None = None  # (count, 1, 1, length) at which of these places a token stands

    def apart(self, rows: Tensor) -> Tensor:
        """Rows of tokens laid out by sequences, with zeros after the shorter ones."""  # (tokens, W) -> (n, S, W)
        if self.places is not None:
            rows = rows.new_zeros(self.count * self.length, rows.shape[1]).index_copy(0, self.places, rows)
        return rows.view(self.count, self.length, -1)

    def together(self, rows: Tensor) -> Tensor:
        """Rows of all places, those of tokens kept."""  # (n · S, W) -> (tokens, W)
        if self.places is None:
            return rows
        kept: Tensor = _Kept.apply(rows, self.places)  # type: ignore[no-untyped-call]
        return kept


class _Kept(torch.autograd.Function):
    """Some rows, each once: their gradients are copied back, where torch would add them up one by one."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.shape = rows.shape
        return rows.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_copy_(0, places, gradient), None


Groups = tuple[Group, ...]


def equal_lengths(stacks: Stacks) -> Groups:
    """A group for each run."""
    return tuple(Group(count, length, count * length) for count, length in stacks)


def group(stacks: Stacks, heads: int, device: torch.device, *, own: bool = False) -> Groups:
    """The cheapest groups of runs that follow one another, shortest first.

    >>> stacks = (3, 5), (2, 6), (1, 7), (4, 300)
    >>> [(one.count, one.length) for one in group(stacks, 12, torch.device("cpu"), own=True)]
    [(6, 7), (4, 300)]
    """
    counts, lengths = np.array(stacks, np.int64).reshape(-1, 2).T
    cuts = cheapest_cuts(lengths, counts, partial(_costs, heads=heads, call=OWN_CALL if own else CALL))
    return tuple(_group(stacks[start:stop], device) for start, stop in cuts)


def _group(stacks: Stacks, device: torch.device) -> Group:
    if len(stacks) == 1:
        return equal_lengths(stacks)[0]
    lengths = np.repeat([length for _, length in stacks], [count for count, _ in stacks])
    seen = np.arange(lengths[-1]) < lengths[:, None]  # (n, S)
    places, sources = np.flatnonzero(seen), np.maximum(np.cumsum(seen) - 1, 0)
    given = (torch.from_numpy(part).to(device, non_blocking=True) for part in (places, sources, seen[:, None, None]))
    return Group(len(lengths), int(lengths[-1]), int(lengths.sum()), *given)


def _costs(longest: int, rows: Integers, *, heads: int, call: int) -> NDArray[np.float64]:
    """What so many sequences cost together, in probabilities; the last are of one length, the others mix."""
    costs = rows.astype(np.float64) * (heads * longest**2) + SHARED * call
    costs[-1] -= (SHARED - 1) * call
    return costs
