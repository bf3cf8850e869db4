"""How well a reply fits a conversation: what words, tower and cross-encoder say of it, as one probability.

The three numbers are weighed by a logistic regression on held-out dialogues, in which real replies are told from those
of other dialogues; 0.5 is as likely the one as the other.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from unmask.apps.chat_measures import Pool, Ranked, by_reading, by_vectors, by_words, ranked
from unmask.apps.predict import Predictor
from unmask.apps.vectors import TextVectors
from unmask.decode.words import Floats


@dataclass(frozen=True)
class Weights:
    """What each number counts for."""

    cosine: float  # of the tower
    reading: float  # of the cross-encoder
    words: float  # of BM25
    bias: float

    def probability(self, cosine: Floats, reading: Floats, words: Floats) -> Floats:
        """That a reply is the real one.

        >>> Weights(2.0, 0.0, 0.0, -1.0).probability(np.array([0.5]), np.zeros(1), np.zeros(1)).tolist()
        [0.5]
        """
        logit = self.cosine * cosine + self.reading * reading + self.words * words + self.bias
        found: Floats = 1 / (1 + np.exp(-np.clip(logit, -50, 50)))
        return found

    def to_dict(self) -> dict[str, float]:
        """The weights as JSON has them."""
        return asdict(self)


@dataclass(frozen=True)
class PoolNumbers:
    """What each way of scoring says of each reply of pools."""

    cosine: list[Floats]
    reading: list[Floats]
    words: list[Floats]

    @classmethod
    def of(cls, pools: Sequence[Pool], tower: TextVectors, cross: Predictor) -> "PoolNumbers":
        """The numbers of all three."""
        return cls(by_vectors(tower, pools), by_reading(cross, pools), by_words(pools))

    def ranked(self, weights: Weights) -> dict[str, Ranked]:
        """How high the real replies stand by all three together, by each alone, and by chance."""
        return {
            "chat": ranked(self.weighed(weights)),
            "tower": ranked(self.cosine),
            "cross_encoder": ranked(self.reading),
            "bm25": ranked(self.words),
            "random": ranked([np.zeros_like(own) for own in self.words]),
        }

    def weighed(self, weights: Weights) -> list[Floats]:
        """The probability of each reply."""
        return list(map(weights.probability, self.cosine, self.reading, self.words))


def learn_weights(numbers: PoolNumbers) -> Weights:
    """The weights by which real replies, the first of each pool, are best told from the others."""
    from sklearn.linear_model import LogisticRegression

    columns = [np.concatenate(column) for column in (numbers.cosine, numbers.reading, numbers.words)]
    features = np.stack(columns, axis=1).astype(np.float64)  # (replies, 3)
    real = np.concatenate([np.arange(len(own)) == 0 for own in numbers.cosine])
    scale = np.maximum(features.std(0), 1e-9)
    counted, weights, bias = [0, 1, 2], np.zeros(3), 0.0
    while counted:
        fitted = LogisticRegression(class_weight="balanced").fit(features[:, counted] / scale[counted], real)
        if (fitted.coef_ > 0).all():
            weights[counted], bias = fitted.coef_[0] / scale[counted], float(fitted.intercept_[0])
            break
        # a number may not count against a reply: with few dialogues that would be chance
        counted = [column for column, weight in zip(counted, fitted.coef_[0], strict=True) if weight > 0]
    cosine, reading, words = map(float, weights)
    return Weights(cosine, reading, words, bias)
