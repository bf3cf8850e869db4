"""Padded batches: every row once, little padding, and never dearer than the obvious ways to cut."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.rows import Row
from unmask.runtime.batching import BATCH_TOKENS, MASKED, STARTING, batches, padded

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

    def cost(batch: list[int]) -> float:
        return STARTING + len(batch) * max(batch) * (1 + MASKED * (len(set(batch)) > 1))

    def cost_of_way(cuts: tuple[int, ...]) -> float:
        runs = zip((0, *cuts), (*cuts, len(ordered)), strict=True)
        return sum(cost(ordered[start:stop]) for start, stop in runs)

    found = sum(cost([lengths[row] for row in which]) for which in batches(lengths, tokens=10**9))
    assert abs(found - min(map(cost_of_way, ways))) < 1e-6


def test_rows_of_one_length_share_a_batch_with_no_others_where_they_are_many() -> None:
    lengths = [20] * 50 + [21] * 50
    assert all(len({lengths[row] for row in which}) == 1 for which in batches(lengths))
    assert len(list(batches([20, 21]))) == 1


def test_two_thousand_sentences_have_almost_no_padding() -> None:
    lengths = np.clip(np.random.default_rng(0).lognormal(3.1, 0.6, 2000), 4, 128).astype(int).tolist()
    assert padded_tokens(lengths) / sum(lengths) < 1.03


def test_padding_is_masked_and_zero() -> None:
    ids, mask, segments = padded([Row([2, 9, 3], [0, 1, 1], 0), Row([2], [0], 1)])
    assert ids.tolist() == [[2, 9, 3], [2, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert segments.tolist() == [[0, 1, 1], [0, 0, 0]]
