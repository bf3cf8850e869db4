"""Reciprocal-rank fusion against sums by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.retrieve.fusion import fuse

rankings = st.lists(st.lists(st.integers(0, 9), unique=True), max_size=4)


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    assert dict(fuse([[7, 5], [5]])) == pytest.approx({5: 1 / 62 + 1 / 61, 7: 1 / 61})


@given(rankings)
def test_every_thing_is_ranked_once_and_scores_fall(given_rankings: list[list[int]]) -> None:
    fused = fuse(given_rankings)
    assert sorted(thing for thing, _ in fused) == sorted({thing for ranking in given_rankings for thing in ranking})
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(st.lists(st.integers(0, 9), unique=True))
def test_one_ranking_stays_as_it_is(ranking: list[int]) -> None:
    assert [thing for thing, _ in fuse([ranking])] == ranking


def test_a_ranking_of_weight_nought_only_fills_the_end() -> None:
    assert [thing for thing, _ in fuse([[1, 2], [3, 2]], weights=[1.0, 0.0])] == [1, 2, 3]
