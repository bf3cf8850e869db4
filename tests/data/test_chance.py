"""Chance: fixed values, independence of neighbouring counters, exact permutations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.chance import generator, hashed, permuted, uniform


def test_values_are_fixed_for_all_time() -> None:
    assert generator(1, 2, 3, 4, 5).integers(0, 1 << 32, 3).tolist() == [2457582421, 975511991, 1201247984]
    assert hashed(1, 2, 3).tolist() == [12930051413248882693]
    assert permuted(np.arange(8), 8, key=3).tolist() == [2, 4, 6, 0, 1, 5, 3, 7]


def test_a_generator_is_a_function_of_its_seed_and_counters() -> None:
    assert generator(5, 1, 2).random() == generator(5, 1, 2).random()
    first = {generator(*key).random() for key in np.ndindex(4, 4, 4, 4, 4)}
    assert len(first) == 4**5


def test_generators_of_neighbouring_steps_are_unrelated() -> None:
    draws = np.array([generator(0, step).random(1000) for step in range(200)])
    related = np.corrcoef(draws)[~np.eye(200, dtype=bool)]
    assert abs(related).max() < 5.5 / np.sqrt(1000)
    assert abs(draws[:, 0].mean() - 0.5) < 4 / np.sqrt(12 * 200)


@pytest.mark.parametrize("axis", [0, 1])
def test_hashes_of_neighbouring_counters_are_unrelated(axis: int) -> None:
    draws = uniform(7, np.arange(500)[:, None], np.arange(500)[None])
    ahead, behind = np.take(draws, range(499), axis), np.take(draws, range(1, 500), axis)
    assert abs(np.corrcoef(ahead.ravel(), behind.ravel())[0, 1]) < 4 / 500
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * draws.size)
    counts = np.histogram(draws, 100, (0, 1))[0]
    assert (((counts - 2500) ** 2) / 2500).sum() < 160  # chi-squared, 99 degrees: 1 in 10,000


def test_every_bit_of_a_counter_changes_half_of_the_hash() -> None:
    counters = np.arange(2000)
    for bit in range(0, 40, 7):
        changed = hashed(3, counters) ^ hashed(3, counters ^ (1 << bit))
        assert abs(np.bitwise_count(changed).mean() - 32) < 4 * 4 / np.sqrt(2000)


@given(st.integers(1, 3000), st.integers(0, 1 << 63))
def test_a_permutation_has_each_place_once(size: int, key: int) -> None:
    assert sorted(permuted(np.arange(size), size, key).tolist()) == list(range(size))


def test_a_place_of_a_permutation_is_reached_directly() -> None:
    whole = permuted(np.arange(1000), 1000, key=9)
    assert permuted(np.array([500, 3]), 1000, key=9).tolist() == [whole[500], whole[3]]
    keys = np.array([9, 10])
    assert permuted(np.array([500, 500]), 1000, keys).tolist() == [whole[500], permuted(np.array([500]), 1000, 10)[0]]


def test_permutations_of_different_keys_are_unrelated() -> None:
    orders = np.array([permuted(np.arange(1000), 1000, key) for key in range(40)])
    related = np.corrcoef(orders)[~np.eye(40, dtype=bool)]
    assert abs(related).max() < 4.5 / np.sqrt(1000)
    assert abs((orders == np.arange(1000)).sum() - 40) < 4 * np.sqrt(40)  # one fixed point each, on average
