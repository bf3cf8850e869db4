"""Is an explanation true to the model? Words are taken away, or left alone, in the order of their scores.

A subject and scores come in; comprehensiveness and sufficiency (DeYoung et al., 2020, ERASER), the areas under the
curves of deletion and insertion, and the same of random orders go out. The share of random orders that do as well is
the p-value; an explanation that is no better than chance is said to be so.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from unmask.data.ragged import Integers
from unmask.errors import InputError
from unmask.explain.attribution import Floats
from unmask.explain.subject import Flags, Subject

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, highest scores first, as in ERASER
RANDOM_ORDERS = 99  # the least p-value is then 0.01
CHANCE = 0.05  # p-values from here on are chance
ROUNDING = 1e-6  # differences of areas that mean nothing: ties must not look like better or worse


@dataclass(frozen=True)
class Measured:
    """What orders of an example's words do to its probability; one number for each order."""

    comprehensiveness: Floats  # what is lost without the first words: the more, the better
    sufficiency: Floats  # what is lost with nothing but the first words: the less, the better
    deletion: Floats  # area under the probability as first words go: the less, the better
    insertion: Floats  # area under the probability as first words come: the more, the better


@dataclass(frozen=True)
class Faithfulness:
    """How true an explanation is to the model, beside random orders of the same words."""

    comprehensiveness: float
    sufficiency: float
    random: float  # the mean comprehensiveness of random orders
    random_sufficiency: float
    deletion: float
    insertion: float
    random_deletion: float
    random_insertion: float
    p: float  # the share of orders, this one included, whose insertion exceeds deletion by as much
    beaten: float  # the share of random orders whose insertion exceeds deletion by more
    orders: int  # random ones

    @property
    def better_than_chance(self) -> bool:
        """Whether few random orders do as well."""
        return self.p < CHANCE

    @property
    def verdict(self) -> str:
        """The same in words.

        >>> Faithfulness(0.1, 0.4, 0.1, 0.4, 0.5, 0.5, 0.5, 0.5, p=0.61, beaten=0.5, orders=99).verdict
        'no better than chance on this model and text: 61 % of random orders do as well (p = 0.61)'
        """
        share = f"{100 * self.p:.0f} % of random orders do as well (p = {self.p:.2f})"
        if self.better_than_chance:
            return f"better than chance (p = {self.p:.2g}, {self.orders} random orders)"
        if 1 / (self.orders + 1) >= CHANCE:
            return f"undecided: {self.orders} random orders are too few to tell it from chance (p = {self.p:.2f})"
        if not self.beaten:  # where one of ten words decides, one order in ten begins with it
            return f"no order that was tried does better, but so few words decide that {share}"
        return f"no better than chance on this model and text: {share}"

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {**asdict(self), "better_than_chance": self.better_than_chance, "verdict": self.verdict}


def faithfulness(
    subject: Subject,
    scores: Floats,
    *,
    orders: int = RANDOM_ORDERS,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    erased: str = "mask",
) -> Faithfulness:
    """How true the scores of a subject's words are, in one go with the random orders they are held against."""
    if orders < 1:
        raise InputError(f"{orders} random orders", wanted="at least one to compare with")
    chance = np.random.default_rng(seed)
    own = np.argsort(-scores, kind="stable")
    drawn = [chance.permutation(len(scores)) for _ in range(orders)]
    found = measured(subject, np.stack([own, *drawn]), shares=shares, erased=erased)
    gaps = found.insertion - found.deletion
    return Faithfulness(
        comprehensiveness=float(found.comprehensiveness[0]),
        sufficiency=float(found.sufficiency[0]),
        random=float(found.comprehensiveness[1:].mean()),
        random_sufficiency=float(found.sufficiency[1:].mean()),
        deletion=float(found.deletion[0]),
        insertion=float(found.insertion[0]),
        random_deletion=float(found.deletion[1:].mean()),
        random_insertion=float(found.insertion[1:].mean()),
        p=float((gaps >= gaps[0] - ROUNDING).mean()),
        beaten=float((gaps[1:] > gaps[0] + ROUNDING).mean()),
        orders=orders,
    )


def measured(subject: Subject, orders: Integers, *, shares: Sequence[float] = SHARES, erased: str = "mask") -> Measured:
    """What orders of words do; the mean of both texts, where they are explained apart."""  # (N, W)
    found, first = [], 0
    for side in subject.sides():
        after = first + len(side.reading.words)
        own = orders[(orders >= first) & (orders < after)].reshape(len(orders), -1) - first
        found.append(_measured(side, own, shares, erased))
        first = after
    means = {field.name: np.mean([getattr(one, field.name) for one in found], 0) for field in fields(Measured)}
    return Measured(**means)


def _measured(subject: Subject, orders: Integers, shares: Sequence[float], erased: str) -> Measured:
    """The same of one side; each curve has a point for each share, and both ends."""
    count = orders.shape[1]
    sizes = np.array([max(1, round(share * count)) for share in shares])  # (K,)
    points = np.unique([0, *sizes, count])  # (Q,)
    first = leading(orders, points)  # (N, Q, W)
    kept = np.stack([~first, first]).reshape(-1, count)
    deleted, inserted = subject.probabilities(kept, erased=erased).reshape(2, *first.shape[:2])  # (N, Q) each
    whole = inserted[:, -1:]
    at = np.searchsorted(points, sizes)
    return Measured(
        comprehensiveness=(whole - deleted[:, at]).mean(1),
        sufficiency=(whole - inserted[:, at]).mean(1),
        deletion=np.trapezoid(deleted, points / count, axis=1),
        insertion=np.trapezoid(inserted, points / count, axis=1),
    )


def leading(orders: Integers, sizes: Integers) -> Flags:
    """The first words of each order, by numbers of words.

    >>> leading(np.array([[2, 0, 1]]), np.array([1, 2])).astype(int).tolist()
    [[[0, 0, 1], [1, 0, 1]]]
    """  # (N, W), (Q,) -> (N, Q, W)
    there: Flags = np.argsort(orders, 1)[:, None, :] < sizes[:, None]
    return there
