"""First occurrences among many hashes, against a set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.duplicates import first_positions, hash_groups, hash_texts

hashes = st.lists(st.integers(0, 12) | st.integers(0, 2**64 - 1), max_size=30)


@pytest.mark.parametrize("at_once", [1, 3, 1000])
@given(parts=st.lists(hashes, min_size=1, max_size=5))
def test_firsts_are_those_that_a_set_has_not_seen(at_once: int, parts: list[list[int]]) -> None:
    found: set[tuple[int, int]] = set()
    for part, positions in first_positions([np.array(part, np.uint64) for part in parts], at_once=at_once):
        found.update((part, int(position)) for position in positions)
    seen: set[int] = set()
    expected = set()
    for number, part in enumerate(parts):
        for position, value in enumerate(part):
            if value not in seen:
                expected.add((number, position))
            seen.add(value)
    assert found == expected


def test_texts_and_groups_of_texts_are_told_apart() -> None:
    texts = hash_texts(["one", "two", "onetwo", "one", "two"])
    assert len(set(texts.tolist())) == 3
    groups = hash_groups(texts, np.array([2, 1, 2])).tolist()
    assert groups[0] == groups[2] != groups[1]
    assert hash_texts(["one"]).tolist() == [14489617718373642804]  # on every machine


def test_nothing_has_no_hashes() -> None:
    assert len(hash_texts([])) == len(hash_groups(hash_texts([]), np.array([], np.int64))) == 0
