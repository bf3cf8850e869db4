"""Vectors of texts -> what is said of them. In: a line for each text. Out: vectors of length one, cosines, ranks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.decode.words import Floats

BLOCK = 1024  # texts that are held against all others at once
EQUAL = 1e-6  # cosines that differ by less are of one text, read in different batches


@dataclass(frozen=True, eq=False)
class Embedded:
    """The vectors of an example's texts."""

    vectors: Floats  # (texts, D)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> Embedded(np.array([[0.0, 1.0]], dtype=np.float32)).to_dict()
        {'vectors': [[0.0, 1.0]]}
        """
        return {"vectors": self.vectors.tolist()}


def normalised(vectors: Floats) -> Floats:
    """Vectors of length one; one of zeros stays as it is.

    >>> normalised(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / np.where(lengths == 0, 1, lengths)
    return scaled


def cosines(firsts: Floats, seconds: Floats) -> Floats:
    """How alike the lines of two arrays are, one by one.

    >>> cosines(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]])).round(3).tolist()
    [0.707]
    """
    alike: Floats = (normalised(firsts) * normalised(seconds)).sum(-1)
    return alike


def ranks(firsts: Floats, seconds: Floats) -> NDArray[np.int64]:
    """For each line of `firsts` how many lines of `seconds` are nearer to it than its own partner.

    >>> ranks(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 2.0], [1.0, 2.0]])).tolist()
    [1, 1]
    """
    firsts, seconds = normalised(firsts), normalised(seconds)
    own = (firsts * seconds).sum(-1, keepdims=True)
    blocks = [slice(start, start + BLOCK) for start in range(0, len(firsts), BLOCK)]
    return np.concatenate([(firsts[block] @ seconds.T > own[block] + EQUAL).sum(-1) for block in blocks])
