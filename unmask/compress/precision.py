"""Which numbers of a model are kept as whole numbers of eight bits, and how: weights by column, inputs by tensor.

Weights are symmetric and use seven of the eight bits, because processors without VNNI add two products of bytes in
sixteen bits: with full weights that sum overflows, silently. Embedding tables are read one row at a time and use all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

LARGEST_WEIGHT = 63  # 255 · 63 + 255 · 63 still fits in sixteen bits


@dataclass(frozen=True)
class InputRange:
    """Where a linear layer's inputs lie: found by calibration, and fixed from then on."""

    lowest: float
    highest: float

    @property
    def scale(self) -> float:
        """What one step of the byte is worth.

        >>> round(InputRange(-1.0, 1.55).scale, 4)
        0.01
        """
        return max(max(self.highest, 0.0) - min(self.lowest, 0.0), 1e-12) / 255

    @property
    def zero(self) -> int:
        """The byte that stands for zero.

        >>> InputRange(-1.0, 1.55).zero
        100
        """
        return int(np.clip(np.rint(-min(self.lowest, 0.0) / self.scale), 0, 255))


@dataclass(frozen=True)
class Int8:
    """A matrix in whole numbers."""

    rows: NDArray[np.int8]  # (in, out)
    scales: NDArray[np.float32]  # (out,)
    inputs: InputRange | None = None  # fixed; if none, each call looks for it


@dataclass(frozen=True)
class Precision:
    """What is kept in eight bits; the rest is float32.

    >>> matrix = np.array([[0.5, -2.0], [1.0, 0.0]], dtype=np.float32)
    >>> Precision(linears=frozenset(["up"])).rounded("up", matrix).rows.tolist()
    [[31, -63], [63, 0]]
    """

    linears: frozenset[str] = frozenset()  # linear layers by name
    tables: frozenset[str] = frozenset()  # embeddings by name
    inputs: Mapping[str, InputRange] = field(default_factory=dict)  # of linear layers, where they are fixed

    def rounded(self, name: str, matrix: NDArray[np.float32]) -> Int8:
        """A linear layer's matrix, each column with its own scale."""  # (in, out)
        scales = np.maximum(np.abs(matrix).max(axis=0), 1e-12).astype(np.float32) / LARGEST_WEIGHT
        return Int8(np.rint(matrix / scales).astype(np.int8), scales, self.inputs.get(name))


FLOAT = Precision()
