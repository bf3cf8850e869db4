"""Attribution by erasure: what changes when words are not there. Leave-one-out, and Shapley values.

A subject comes in; scores of its words go out. An erased word is a [MASK], or is removed. Shapley values are exact for
few words; for more, words come back in random orders, each order also backwards (antithetic: what one order credits to
early words the other credits to late ones), and every score has its standard error.
"""

from math import factorial

import numpy as np

from unmask.data.ragged import Integers
from unmask.errors import InputError
from unmask.explain.attribution import Attribution, Floats
from unmask.explain.subject import Flags, Subject, all_but_each

MOST_EXACT_WORDS = 8  # 256 copies: no more than a few sampled orders of as many words need
ORDERS = 32


def leave_one_out(subject: Subject, *, erased: str = "mask") -> Attribution:
    """How much the score falls without each word alone."""
    count = len(subject.reading.words)
    whole, *without = subject.scores(np.vstack([np.ones((1, count), bool), all_but_each(count)]), erased=erased)
    return Attribution(whole - np.array(without))


def shapley(subject: Subject, *, orders: int = ORDERS, seed: int = 0, erased: str = "mask") -> Attribution:
    """What each word adds, averaged over all orders in which words may come; scores sum up to what all add together."""
    if len(subject.reading.words) <= MOST_EXACT_WORDS:
        return exact_shapley(subject, erased=erased)
    return sampled_shapley(subject, orders=orders, seed=seed, erased=erased)


def exact_shapley(subject: Subject, *, erased: str = "mask") -> Attribution:
    """Shapley values from the scores of all sets of words."""
    count = len(subject.reading.words)
    sets = np.arange(2**count)
    kept = (sets[:, None] >> np.arange(count)) & 1 == 1  # (2^W, W)
    scores = subject.scores(kept, erased=erased)
    sizes = kept.sum(1)
    weights = np.array([factorial(size) * factorial(count - size - 1) for size in range(count)]) / factorial(count)
    values = np.zeros(count)
    for word in range(count):
        without = sets[~kept[:, word]]
        values[word] = (weights[sizes[without]] * (scores[without | (1 << word)] - scores[without])).sum()
    return Attribution(values, standard_errors=np.zeros(count))


def sampled_shapley(subject: Subject, *, orders: int = ORDERS, seed: int = 0, erased: str = "mask") -> Attribution:
    """Shapley values from random orders (Castro et al., 2009), in pairs of one and its reverse."""
    if orders < 4:
        raise InputError(f"{orders} orders", wanted="at least 4: two pairs, for a standard error")
    count, chance = len(subject.reading.words), np.random.default_rng(seed)
    forward = np.stack([chance.permutation(count) for _ in range(orders // 2)])  # (pairs, W)
    both = np.stack([forward, forward[:, ::-1]], 1).reshape(-1, count)
    gains = np.diff(subject.scores(growing(both).reshape(-1, count), erased=erased).reshape(len(both), count + 1))
    added = np.empty_like(gains)
    np.put_along_axis(added, both, gains, 1)
    pairs: Floats = added.reshape(-1, 2, count).mean(1)
    return Attribution(pairs.mean(0), standard_errors=pairs.std(0, ddof=1) / np.sqrt(len(pairs)))


def growing(orders: Integers) -> Flags:
    """Which words are there as they come in each order: none at first, at last all.

    >>> growing(np.array([[1, 0]])).astype(int).tolist()
    [[[0, 0], [0, 1], [1, 1]]]
    """  # (N, W) -> (N, W + 1, W)
    ranks = np.argsort(orders, 1)
    there: Flags = ranks[:, None, :] < np.arange(orders.shape[1] + 1)[:, None]
    return there
