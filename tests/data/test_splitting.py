"""Examples set aside to measure on."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.splitting import split
from unmask.errors import InputError


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=200), st.integers(0, 5))
def test_every_example_is_on_one_side(classes: list[str], seed: int) -> None:
    kept, aside = split(classes, 0.1, seed=seed, by=classes)
    assert sorted(kept + aside) == list(range(len(classes)))
    assert aside


def test_classes_keep_their_shares() -> None:
    classes = ["rare"] * 50 + ["frequent"] * 950
    _, aside = split(classes, 0.1, by=classes)
    assert Counter(classes[number] for number in aside) == {"rare": 5, "frequent": 95}


def test_many_classes_of_one_example_give_their_share_together() -> None:
    _, aside = split(range(1000), 0.1, by=range(1000))
    assert 60 < len(aside) < 140


def test_the_seed_decides() -> None:
    assert split(range(50), 0.2, seed=1) == split(range(50), 0.2, seed=1) != split(range(50), 0.2, seed=2)


def test_one_example_cannot_be_split() -> None:
    with pytest.raises(InputError, match="at least 2"):
        split(["alone"], 0.1)
