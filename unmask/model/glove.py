"""GloVe (Pennington et al., 2014): counts of pieces near each other come in, a vector for each piece goes out.

The logarithm of every count is to be the product of two vectors and two biases; frequent pairs weigh more, up to a
limit. The sum of a piece's two vectors is its vector. The loop trains it as it trains any learner, by AdaGrad.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unmask.data.chance import generator
from unmask.data.neighbours import Neighbours
from unmask.data.ragged import Integers
from unmask.model.dropout import Chance

ENOUGH, POWER = 10.0, 0.75  # counts from which a pair has full weight (100 in the paper, for billions of words)
LOSS = "glove"


@dataclass(frozen=True)
class Cells:
    """Pairs of pieces and how often they stand near each other."""

    rows: Integers  # (N,)
    columns: Integers  # (N,)
    counts: NDArray[np.float32]  # (N,)

    @classmethod
    def of(cls, found: Neighbours) -> "Cells":
        """All pairs of a text that occur.

        >>> from unmask.data.neighbours import count_neighbours
        >>> Cells.of(count_neighbours(np.array([1, 2]), 3)).rows.tolist()
        [1, 2]
        """
        near = found.near.tocoo()
        rows, columns = near.coords
        return cls(rows.astype(np.int64), columns.astype(np.int64), near.data.astype(np.float32))

    def chosen(self, which: Integers) -> "Cells":
        """Some of them."""
        return Cells(self.rows[which], self.columns[which], self.counts[which])


@dataclass(frozen=True)
class CellBatches:
    """The cells of any step: every epoch takes all of them in an order of its own, drawn from seed and epoch alone."""

    cells: Cells
    size: int  # of a step
    seed: int = 0

    @property
    def steps_an_epoch(self) -> int:
        """Steps until every cell was seen once."""
        return -(-len(self.cells.rows) // self.size)

    def at(self, step: int) -> Cells:
        """The cells of a step."""
        epoch, place = divmod(step, self.steps_an_epoch)
        return self.cells.chosen(self._order(epoch)[place * self.size :][: self.size])

    @cached_property
    def _orders(self) -> dict[int, Integers]:
        return {}

    def _order(self, epoch: int) -> Integers:
        """An epoch's order; only the last one asked for is kept."""
        if epoch not in self._orders:
            self._orders.clear()
            self._orders[epoch] = generator(self.seed, epoch).permutation(len(self.cells.rows))
        return self._orders[epoch]


class Glove(nn.Module):
    """Two vectors and two biases for each piece.

    >>> Glove(vocabulary_size=9, width=4).vectors.shape
    torch.Size([9, 4])
    """

    def __init__(self, vocabulary_size: int, width: int, seed: int = 0) -> None:
        super().__init__()
        chance = torch.Generator().manual_seed(seed)
        self.words, self.contexts = (nn.Embedding(vocabulary_size, width) for _ in range(2))
        self.biases, self.context_biases = (nn.Embedding(vocabulary_size, 1) for _ in range(2))
        for table in (self.words, self.contexts):
            nn.init.uniform_(table.weight, -0.5 / width, 0.5 / width, generator=chance)
        for table in (self.biases, self.context_biases):
            nn.init.zeros_(table.weight)

    @torch.no_grad()
    def begin_at_frequencies(self, cells: Cells) -> None:
        """Sets the biases to what the paper derives for them: no vector has to say how frequent its piece is."""
        sums = np.bincount(cells.rows, cells.counts, minlength=len(self.biases.weight))  # (V,)
        bias = np.log(np.maximum(sums, cells.counts.min())) - 0.5 * np.log(sums.sum())
        for table in (self.biases, self.context_biases):
            table.weight.copy_(torch.from_numpy(bias).float()[:, None])

    def forward(self, cells: Cells, chance: Chance | None = None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The weighted squared errors, summed, as the loop wants them."""
        del chance
        rows, columns, counts = (torch.from_numpy(part) for part in (cells.rows, cells.columns, cells.counts))
        products = (self.words(rows) * self.contexts(columns)).sum(1)  # (N,)
        said = products + self.biases(rows)[:, 0] + self.context_biases(columns)[:, 0]
        weights = (counts / ENOUGH).clamp(max=1.0) ** POWER
        return {LOSS: (weights * (said - counts.log()) ** 2).sum()}, {}

    @property
    def vectors(self) -> Tensor:
        """Each piece's vector."""  # (V, D)
        return (self.words.weight + self.contexts.weight).detach()


def bias_line(cells: Cells) -> float:
    """The loss of a model that has one bias for all pairs, which is what vectors have to beat.

    >>> bias_line(Cells(np.array([0]), np.array([1]), np.array([5.0], np.float32)))
    0.0
    """
    weights = np.minimum(cells.counts / ENOUGH, 1.0) ** POWER
    logs = np.log(cells.counts)
    mean = float((weights * logs).sum() / weights.sum())
    return math.fsum(weights * (logs - mean) ** 2) / len(logs)
