"""A part of the examples set aside for measuring, each class in its share, the same for every run with a seed."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from unmask.data.chance import generator
from unmask.errors import InputError

FEWEST = 2  # examples that must be there to set one aside


def split(
    examples: Sequence[Any], share: float, *, seed: int = 0, by: Sequence[Hashable] | None = None
) -> tuple[list[int], list[int]]:
    """Numbers of the examples to learn from and of those set aside; `by` gives the class of each.

    >>> split("aaaabbbb", 0.25, by="aaaabbbb")
    ([0, 2, 3, 5, 6, 7], [1, 4])
    """
    if len(examples) < FEWEST:
        raise InputError(f"{len(examples)} examples", wanted=f"at least {FEWEST}, one to measure on")
    classes: dict[Hashable, list[int]] = {}
    for number, group in enumerate(by if by is not None else [None] * len(examples)):
        classes.setdefault(group, []).append(number)
    aside: list[int] = []
    for order, members in enumerate(classes.values()):
        shuffled = generator(seed, order).permutation(members)
        aside += shuffled[: _rounded(len(members) * share, seed, order)].tolist()
    if not aside:
        aside = [int(generator(seed, len(classes)).integers(len(examples)))]
    return sorted(set(range(len(examples))) - set(aside)), sorted(aside)


def split_apart(
    examples: Sequence[Any], share: float, source: Callable[[Any], Hashable], *, seed: int = 0
) -> tuple[list[int], list[int]]:
    """The same where examples of one source, such as the questions on one text, must stay on one side.

    >>> split_apart(["a1", "a2", "b1", "b2"], 0.5, lambda example: example[0])
    ([2, 3], [0, 1])
    """
    sources = list(dict.fromkeys(source(example) for example in examples))
    if len(sources) < FEWEST:
        return split(examples, share, seed=seed)
    _, aside = split(sources, share, seed=seed)
    apart = {sources[number] for number in aside}
    sides = [source(example) in apart for example in examples]
    return [i for i, away in enumerate(sides) if not away], [i for i, away in enumerate(sides) if away]


def first_share(count: int, share: float, seed: int) -> list[int]:
    """Numbers of a share of examples, in their order; a larger share has all of a smaller one.

    >>> set(first_share(10, 0.2, 0)) <= set(first_share(10, 0.5, 0))
    True
    """
    chosen = generator(seed, 1 << 20).permutation(count)[: max(1, round(count * share))]
    return sorted(chosen.tolist())


def _rounded(number: float, seed: int, order: int) -> int:
    """Up or down by chance, so that many small classes together give their share too."""
    low = int(np.floor(number))
    return low + int(generator(seed, order, 1).random() < number - low)
