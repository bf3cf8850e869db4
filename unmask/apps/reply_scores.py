"""How well a reply fits a conversation: what words, tower and cross-encoder say of it, as one probability.

The three numbers are weighed by a logistic regression on held-out dialogues, in which real replies are told from those
of other dialogues; 0.5 is as likely the one as the other. Reading costs a model and most of the time of a reply:
without a cross-encoder its number is zero, and the same dialogues say whether that is as good.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from unmask.apps.chat_measures import Pool, Ranked, by_reading, by_vectors, by_words, ranked, reciprocal_ranks
from unmask.apps.predict import Predictor
from unmask.apps.vectors import TextVectors
from unmask.decode.words import Floats
from unmask.tasks.sign_flips import paired_p

SURELY = 0.05  # how likely a gain of the cross-encoder may be chance: it is not kept for a coin's toss


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
    def of(cls, pools: Sequence[Pool], tower: TextVectors, cross: Predictor | None) -> "PoolNumbers":
        """The numbers of all three, or of those that there are."""
        words = by_words(pools)
        return cls(by_vectors(tower, pools), by_reading(cross, pools) if cross else _nothing(words), words)

    def unread(self) -> "PoolNumbers":
        """The same without a cross-encoder."""
        return replace(self, reading=_nothing(self.words))

    def every_second(self, first: int) -> "PoolNumbers":
        """The numbers of half of the pools."""
        return PoolNumbers(self.cosine[first::2], self.reading[first::2], self.words[first::2])

    def ranked(self, weights: Weights) -> dict[str, Ranked]:
        """How high the real replies stand by all together, by each alone, and by chance."""
        read = {"cross_encoder": ranked(self.reading)} if any(own.any() for own in self.reading) else {}
        return {
            "chat": ranked(self.weighed(weights)),
            "tower": ranked(self.cosine),
            **read,
            "bm25": ranked(self.words),
            "random": ranked(_nothing(self.words)),
        }

    def weighed(self, weights: Weights) -> list[Floats]:
        """The probability of each reply."""
        return list(map(weights.probability, self.cosine, self.reading, self.words))


def reading_helps(numbers: PoolNumbers) -> bool:
    """Whether real replies surely stand higher with the cross-encoder than without it.

    Each way is weighed on one half of the pools and measured on the other: weights that have seen what they are
    measured on would find a use for noise.
    """
    halves = numbers.every_second(0), numbers.every_second(1)
    gains = np.concatenate([_gains(learned, measured) for learned, measured in (halves, halves[::-1])])
    return bool(gains.mean() > 0 and paired_p(gains) < SURELY)


def _gains(learned: PoolNumbers, measured: PoolNumbers) -> Floats:
    """How much higher reading puts each real reply."""
    with_it = measured.weighed(learn_weights(learned))
    without = measured.unread().weighed(learn_weights(learned.unread()))
    return reciprocal_ranks(with_it) - reciprocal_ranks(without)


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


def _nothing(numbers: Sequence[Floats]) -> list[Floats]:
    return [np.zeros_like(own) for own in numbers]
