"""Scores of several endings -> the one that is chosen. In: a row of scores for each question. Out: number and odds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unmask.decode.labels import softmax
from unmask.decode.words import Floats


@dataclass(frozen=True)
class Chosen:
    """The number of the chosen ending, and how likely each was."""

    choice: int
    probabilities: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> Chosen(1, (0.25, 0.75)).to_dict()
        {'choice': 1, 'probabilities': [0.25, 0.75]}
        """
        return {"choice": self.choice, "probabilities": list(self.probabilities)}


def chosen(logits: Iterable[Floats]) -> list[Chosen]:
    """The likeliest ending of each question, which may have different numbers of them; of equals the first.

    >>> import numpy as np
    >>> [answer.choice for answer in chosen([np.array([0.0, 2.0]), np.array([1.0, 0.0, 0.5])])]
    [1, 0]
    """
    return [Chosen(int(scores.argmax()), tuple(softmax(scores).tolist())) for scores in logits]
