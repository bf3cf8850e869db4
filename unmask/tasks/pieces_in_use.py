"""Word embeddings of only those pieces that the examples have, while a model learns from them.

Rows come in and go out with the pieces' places in a smaller table. The optimiser would move every number of the large
one at every step: of MiniLM's 22.7 million half, though SST-2 has 11,600 of its 30,522 pieces. Pieces that no example
has stay exactly as they were; they would only decay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from unmask.data.rows import Row


class PiecesInUse:
    """The pieces of some rows, and their vectors in place of all."""

    def __init__(self, words: nn.Embedding, rows: Iterable[Row]) -> None:
        self.words = words
        self.whole = words.weight.data
        self.ids = np.unique(np.fromiter(chain.from_iterable(row.ids for row in rows), np.int64))
        self.places = np.zeros(len(self.whole), np.int64)
        self.places[self.ids] = np.arange(len(self.ids))
        self._put(self.whole[torch.from_numpy(self.ids).to(self.whole.device)])

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """The same rows, of which all pieces are in use, by their places in the smaller table."""
        return [replace(row, ids=self.places[np.asarray(row.ids)].tolist()) for row in rows]

    def put_back(self) -> None:
        """The whole table again, with what was learned in it."""
        learned = self.words.weight.detach()
        whole = self.whole.clone()
        whole[torch.from_numpy(self.ids).to(whole.device)] = learned
        self._put(whole)

    def _put(self, vectors: Tensor) -> None:
        self.words.weight.data = vectors  # the parameter stays the one that an optimiser knows
        self.words.num_embeddings = len(vectors)
