"""A fresh model that begins with what counting finds: words by their neighbours, and how frequent each one is.

Which words stand near which is most of what the word embeddings learn first, a few rows at a step. Counted over the
whole text it takes seconds: the positive pointwise mutual information of neighbours, cut to the model's width by its
singular values, is what word2vec and GloVe approximate (Levy and Goldberg, 2014). The decoder's bias starts at the
logarithm of the frequencies. It is a start only: the model is a plain BERT, and every weight goes on learning.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.data.neighbours import Neighbours
from unmask.model.bert import Bert
from unmask.model.heads import MaskedWords

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEVIATION = 0.0375  # of the numbers of a counted vector: a little below where trained ones end
FLATTENED = 0.75  # power of the frequencies of contexts: rare ones would otherwise look closest to everything
MORE, ROUNDS = 32, 2  # directions beyond the wanted, and passes, that make the singular values exact enough

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class CountedStart:
    """What a model starts with."""

    counted: NDArray[np.bool_]  # (V,) pieces that were seen; the others start as usual
    vectors: Matrix  # (V, D)
    bias: Matrix  # (V,)

    @torch.no_grad()
    def set_weights(self, bert: Bert, words: MaskedWords) -> None:
        """Gives a fresh model its start, in place."""
        counted = torch.from_numpy(self.counted)
        bert.embeddings.words.weight[: len(counted)][counted] = torch.from_numpy(self.vectors[self.counted])
        words.bias[: len(counted)].copy_(torch.from_numpy(self.bias))


def counted_start(found: Neighbours, width: int, seed: int = 0) -> CountedStart:
    """The start that counts give a model of some width.

    >>> from unmask.data.neighbours import count_neighbours
    >>> start = counted_start(count_neighbours(np.array([1, 2, 1, 3, 1, 2, 1, 3]), 5), width=4)
    >>> start.counted.tolist(), bool(start.vectors[2] @ start.vectors[3] > 0)  # 2 and 3 have the same neighbours
    ([False, True, True, True, False], True)
    """
    frequencies = np.log((found.pieces + 1) / (found.pieces + 1).sum())
    vectors = strongest(information(found.near), width, np.random.default_rng(seed))
    counted = found.pieces > 0
    vectors -= vectors[counted].mean(0)  # what all have in common says nothing
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors *= DEVIATION * np.sqrt(width) / np.maximum(lengths, 1e-6)
    return CountedStart(counted, vectors, (frequencies - frequencies.mean()).astype(np.float32))


def information(near: "csr_array") -> "csr_array":
    """The positive pointwise mutual information of neighbours: how far above chance they meet."""  # (V, V)
    from scipy.sparse import csr_array

    table = near.tocoo()
    rows = np.asarray(near.sum(1), dtype=np.float64).ravel()  # (V,)
    contexts = rows**FLATTENED
    contexts /= max(contexts.sum(), 1e-12)
    above = np.log(table.data / (rows[table.row] * contexts[table.col]))
    kept = above > 0
    positive = (above[kept].astype(np.float32), (table.row[kept], table.col[kept]))
    return csr_array(positive, shape=near.shape)


def strongest(table: "csr_array", width: int, generator: np.random.Generator) -> Matrix:
    """The rows of a table in its strongest directions (randomised singular values: Halko et al., 2011)."""  # (V, D)
    basis = table @ generator.standard_normal((table.shape[1], width + MORE)).astype(np.float32)
    for _ in range(ROUNDS):
        basis = table @ (table.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]  # (V, at most D + MORE)
    small = table.T @ basis
    squares, turns = np.linalg.eigh(small.T @ small)  # ascending: the strongest are last
    best = turns[:, ::-1][:, :width] * np.maximum(squares[::-1][:width], 0) ** 0.25
    vectors = np.zeros((table.shape[0], width), dtype=np.float32)
    vectors[:, : best.shape[1]] = basis @ best
    return vectors
