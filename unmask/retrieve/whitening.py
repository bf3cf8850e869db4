"""Vectors spread evenly: vectors of many texts in, a map out after which cosines tell like texts from unlike ones.

An encoder that was never taught to embed puts all texts into a narrow cone: any two have a cosine near one, decided by
a few directions that have little to do with meaning. Taking the mean away and giving every direction the same spread
mends that without training (Su et al. 2021). With fewer texts than directions the spread of most is a guess, so the
covariance is drawn towards a sphere as far as the number of texts demands (Ledoit & Wolf 2004).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np

from unmask.decode.embeddings import normalised
from unmask.decode.words import Floats
from unmask.errors import InputError

FEWEST = 20  # texts from which whitening was seen to help
SMALLEST = 1e-9  # spread of a direction, in squares, that is not divided by


@dataclass(frozen=True, eq=False)
class Whitening:
    """A mean to take away and a matrix to multiply by.

    >>> vectors = np.random.default_rng(0).normal(size=(500, 3)) * [5, 1, 1] + [9, 0, 0]
    >>> whitened = Whitening.of(vectors)(vectors)
    >>> bool((whitened[0::2] * whitened[1::2]).sum(-1).mean() < 0.1)
    True
    """

    mean: Floats  # (D,)
    matrix: Floats  # (D, width)

    @classmethod
    def of(cls, vectors: Floats, width: int | None = None) -> Self:
        """Learned from the vectors of texts such as will be compared; `width` keeps only the widest directions."""
        from sklearn.covariance import ledoit_wolf

        covariance, _ = ledoit_wolf(vectors.astype(np.float64))
        spread, directions = np.linalg.eigh(covariance)
        widest = np.argsort(-spread)[:width]
        matrix = directions[:, widest] / np.sqrt(np.maximum(spread[widest], SMALLEST))
        return cls(vectors.mean(0, dtype=np.float64).astype(np.float32), matrix.astype(np.float32))

    def __call__(self, vectors: Floats) -> Floats:
        """The same vectors spread evenly, of length one."""  # (N, D) -> (N, width)
        return normalised((vectors - self.mean) @ self.matrix)

    def save(self, path: Path) -> None:
        """Writes mean and matrix to one file."""
        with path.open("wb") as file:
            np.savez(file, mean=self.mean, matrix=self.matrix)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Opens what `save` wrote."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                return cls(stored["mean"], stored["matrix"])
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise InputError(f"{path}, which is damaged or missing", do="make the index again") from error
