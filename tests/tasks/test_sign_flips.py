"""The paired test: its p-values are those of scipy, and even where there is nothing to find."""

import numpy as np
import pytest
from scipy import stats

from unmask.tasks.sign_flips import MOST_TRIED, paired_p


@pytest.mark.parametrize("count", [5, MOST_TRIED, 40])
def test_p_values_are_those_of_scipy(count: int) -> None:
    values = np.random.default_rng(count).normal(0.4, 1, count)
    theirs = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1).pvalue
    assert paired_p(values) == pytest.approx(theirs, abs=0.015)


def test_without_a_difference_every_p_value_is_as_likely() -> None:
    chance = np.random.default_rng(0)
    found = [paired_p(chance.normal(size=12)) for _ in range(200)]
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_no_p_value_is_zero() -> None:
    assert paired_p(np.ones(100)) == pytest.approx(1 / 20_001)
