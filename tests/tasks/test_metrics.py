"""Metrics: to the last digit against scikit-learn and scipy, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as reference

from unmask.tasks.metrics import (
    METRICS,
    accuracy,
    bootstrap_interval,
    f1,
    macro_f1,
    matthews,
    micro_f1,
    multi_label_f1,
    pearson,
    spearman,
)

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30)
BINARY = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30)
NUMBERS = st.floats(-100, 100).map(lambda value: round(value, 3))
NUMBER_PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=30)
SETS = st.lists(st.tuples(*[st.sets(st.sampled_from("abcd"))] * 2), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_scores_of_labels_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    expected, answers = (list(side) for side in zip(*pairs, strict=True))
    assert accuracy(expected, answers) == reference.accuracy_score(expected, answers)
    assert macro_f1(expected, answers) == reference.f1_score(expected, answers, average="macro", zero_division=0)
    assert micro_f1(expected, answers) == reference.f1_score(expected, answers, average="micro", zero_division=0)
    if len({*expected, *answers}) > 1:
        assert matthews(expected, answers) == pytest.approx(
            reference.matthews_corrcoef(expected, answers), rel=1e-14, abs=1e-15
        )


@settings(max_examples=30, deadline=None)
@given(BINARY)
def test_f1_of_the_positive_label_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    expected, answers = (list(side) for side in zip(*pairs, strict=True))
    right = reference.f1_score(expected, answers, zero_division=0)
    assert f1(expected, answers) == right
    assert f1([str(label) for label in expected], [str(label) for label in answers]) == right
    named = [["different", "same"][label] for label in expected], [["different", "same"][label] for label in answers]
    assert f1(*named, positive="same") == right


def test_matthews_of_one_label_only_is_nothing() -> None:
    assert matthews(["1", "1"], ["1", "1"]) == 0.0
    assert matthews(["1", "0"], ["1", "1"]) == 0.0
    assert matthews(["1", "0"], ["0", "1"]) == -1.0


def test_matthews_stays_exact_for_many_examples() -> None:
    expected = np.repeat([0, 1, 0, 1], [30_000, 40_000, 10_000, 20_000])
    answers = np.repeat([0, 1, 1, 0], [30_000, 40_000, 10_000, 20_000])
    by_hand = (40_000 * 30_000 - 10_000 * 20_000) / (60_000 * 50_000 * 40_000 * 50_000) ** 0.5
    assert matthews(expected, answers) == pytest.approx(by_hand, rel=1e-15)


@settings(max_examples=30, deadline=None)
@given(NUMBER_PAIRS)
def test_correlations_are_those_of_scipy(pairs: list[tuple[float, float]]) -> None:
    expected, answers = (np.array(side) for side in zip(*pairs, strict=True))
    if np.ptp(expected) < 0.01 or np.ptp(answers) < 0.01:
        return
    assert pearson(expected, answers) == pytest.approx(stats.pearsonr(expected, answers).statistic, abs=1e-12)
    assert spearman(expected, answers) == pytest.approx(stats.spearmanr(expected, answers).statistic, abs=1e-12)


def test_equal_values_share_their_mean_rank() -> None:
    # ranks 1.5 1.5 3 4 against 1 2 3 4: covariance 4.5, spreads 4.5 and 5
    assert spearman([1, 1, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5, rel=1e-15)


def test_a_constant_answer_correlates_with_nothing() -> None:
    assert pearson([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) == 0.0
    assert spearman([0.1, 0.1, 0.1], [1.0, 2.0, 3.0]) == 0.0


@settings(max_examples=30, deadline=None)
@given(SETS)
def test_multi_label_f1_is_that_of_scikit_learn(pairs: list[tuple[set[str], set[str]]]) -> None:
    expected, answers = (list(side) for side in zip(*pairs, strict=True))
    tables = [np.array([[name in row for name in "abcd"] for row in side]) for side in (expected, answers)]
    micro, macro = multi_label_f1(expected, answers, labels="abcd")
    assert micro == reference.f1_score(*tables, average="micro", zero_division=0)
    assert macro == pytest.approx(reference.f1_score(*tables, average="macro", zero_division=0), rel=1e-15)


def test_every_metric_of_the_table_takes_expected_and_given() -> None:
    assert list(METRICS) == ["accuracy", "f1", "matthews", "pearson", "spearman", "macro_f1", "micro_f1"]
    assert all(metric([0, 1, 1, 0], [0, 1, 1, 0]) == 1.0 for metric in METRICS.values())


def test_answers_for_other_examples_are_noticed() -> None:
    for metric in (accuracy, f1, macro_f1, micro_f1, matthews):
        with pytest.raises(AssertionError, match="2 answers for 1 examples"):
            metric(["a"], ["a", "b"])


def test_the_bootstrap_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).random(300)
    ours = bootstrap_interval(values, rounds=4000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_the_bootstrap_depends_on_its_seed_alone_and_takes_other_statistics() -> None:
    pairs = np.random.default_rng(3).normal(size=(50, 2))
    pairs[:, 1] += pairs[:, 0]

    def correlations(sample: np.ndarray) -> np.ndarray:
        return np.array([pearson(rows[:, 0], rows[:, 1]) for rows in sample])

    low, high = bootstrap_interval(pairs, correlations, seed=5, rounds=200)
    assert low < pearson(pairs[:, 0], pairs[:, 1]) < high
    assert (low, high) == bootstrap_interval(pairs, correlations, seed=5, rounds=200)
    assert (low, high) != bootstrap_interval(pairs, correlations, seed=6, rounds=200)
