"""Marginals: against every path counted one by one."""

from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.decode.marginals import marginals
from unmask.decode.tags import legal_transitions
from unmask.decode.words import Floats

LABELS = ("O", "B-X", "I-X")


def obvious(scores: Floats, transitions: Floats, start: Floats, end: Floats) -> Floats:
    """Every path of one sentence, weighed."""
    found = np.zeros(scores.shape)
    for path in product(range(scores.shape[1]), repeat=len(scores)):
        steps = sum(transitions[step] for step in pairwise(path))
        words = scores[range(len(path)), path].sum()
        found[range(len(path)), path] += np.exp(start[path[0]] + steps + words + end[path[-1]])
    odds: Floats = found / found.sum(1, keepdims=True)
    return odds


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 99))
def test_they_are_those_of_all_paths(lengths: list[int], seed: int) -> None:
    chance = np.random.default_rng(seed)
    legal_start, legal, legal_end = legal_transitions(LABELS, "IOB2")
    start, transitions, end = (part + chance.normal(size=part.shape) for part in (legal_start, legal, legal_end))
    scores = chance.normal(size=(sum(lengths), 3))
    found = np.split(marginals(scores, lengths, transitions, start, end), np.cumsum(lengths)[:-1])
    for own, some in zip(np.split(scores, np.cumsum(lengths)[:-1]), found, strict=True):
        if len(own):
            np.testing.assert_allclose(some, obvious(own, transitions, start, end), atol=1e-12)


def test_nothing_has_no_marginals() -> None:
    assert marginals(np.zeros((0, 3)), [], np.zeros((3, 3)), np.zeros(3), np.zeros(3)).shape == (0, 3)
