"""How far two models say the same of the same rows: outputs of both in, a number up to 1 out."""

from collections.abc import Sequence

import numpy as np

from unmask.decode.embeddings import normalised
from unmask.tasks.task import Floats


def agreement(given: Sequence[Floats], expected: Sequence[Floats], head: str) -> float:
    """How far a student answers as its teacher does: 1 where always.

    >>> agreement([np.array([1.0, 2.0])], [np.array([0.0, 5.0])], "classes")
    1.0
    """
    if head in ("regression", "choice"):
        return _correlation(np.concatenate(given), np.concatenate(expected))
    if head == "embedding":
        return _correlation(_likeness(given), _likeness(expected))
    axis = 0 if head == "span" else -1
    same = [
        np.argmax(mine, axis) == np.argmax(theirs, axis) if mine.shape == theirs.shape else np.zeros(1)
        for mine, theirs in zip(given, expected, strict=True)
    ]
    return float(np.concatenate([np.atleast_1d(one) for one in same]).mean())


def _likeness(vectors: Sequence[Floats]) -> Floats:
    """The cosines of all pairs of texts."""
    rows = normalised(np.stack(vectors))
    return (rows @ rows.T)[np.triu_indices(len(rows), 1)].astype(np.float32)


def _correlation(given: Floats, expected: Floats) -> float:
    if len(given) < 2 or given.std() == 0 or expected.std() == 0:
        return 0.0
    return float(np.corrcoef(given, expected)[0, 1])
