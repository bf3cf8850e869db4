"""Padded batches: every row once, little padding, and never dearer than the obvious ways to cut."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.rows import Row
from unmask.runtime.batching import BATCH_TOKENS, STARTING, batches, padded

LENGTHS = st.lists(st.integers(2, 512), max_size=300)


def padded_tokens(lengths: list[int]) -> int:
    return sum(len(which) * max(lengths[row] for row in which) for which in batches(lengths))


@given(LENGTHS)
def test_every_row_is_in_one_batch(lengths: list[int]) -> None:
    found = [row for which in batches(lengths) for row in which.tolist()]
    assert sorted(found) == list(range(len(lengths)))


@given(LENGTHS)
def test_padding_is_bounded_by_the_number_of_lengths(lengths: list[int]) -> None:
    assert padded_tokens(lengths) - sum(lengths) <= STARTING * len(set(lengths))


@given(LENGTHS)
def test_a_batch_is_bounded_or_a_single_row(lengths: list[int]) -> None:
    for which in batches(lengths):
        assert len(which) == 1 or len(which) * max(lengths[row] for row in which) <= BATCH_TOKENS


@given(st.lists(st.integers(2, 60), min_size=1, max_size=8))
def test_no_way_to_cut_is_cheaper(lengths: list[int]) -> None:
    ordered = sorted(lengths)
    places = range(1, len(ordered))
    ways = [cuts for count in range(len(ordered)) for cuts in combinations(places, count)]

    def cost(cuts: tuple[int, ...]) -> int:
        runs = zip((0, *cuts), (*cuts, len(ordered)), strict=True)
        return sum(STARTING + (stop - start) * ordered[stop - 1] for start, stop in runs)

    found = list(batches(lengths, tokens=10**9))
    assert sum(STARTING + len(w) * max(lengths[r] for r in w) for w in found) == min(map(cost, ways))


def test_two_thousand_sentences_have_almost_no_padding() -> None:
    lengths = np.clip(np.random.default_rng(0).lognormal(3.1, 0.6, 2000), 4, 128).astype(int).tolist()
    assert padded_tokens(lengths) / sum(lengths) < 1.03


def test_padding_is_masked_and_zero() -> None:
    ids, mask, segments = padded([Row([2, 9, 3], [0, 1, 1], 0), Row([2], [0], 1)])
    assert ids.tolist() == [[2, 9, 3], [2, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert segments.tolist() == [[0, 1, 1], [0, 0, 0]]
