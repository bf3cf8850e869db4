"""Classes, values and calibration: against torch, scipy and sums written out."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from unmask.decode.labels import (
    calibration,
    classified,
    fit_temperature,
    multi_labelled,
    sigmoid,
    softmax,
    valued,
)

LOGITS = arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-90, 90, width=32))


@settings(deadline=None)
@given(LOGITS)
def test_softmax_and_sigmoid_agree_with_torch(logits: np.ndarray) -> None:
    exact = torch.from_numpy(logits).double()
    np.testing.assert_allclose(softmax(logits), exact.softmax(-1).numpy(), rtol=1e-12)
    np.testing.assert_allclose(sigmoid(logits), exact.sigmoid().numpy(), rtol=1e-12)


def test_extreme_scores_give_probabilities_without_a_warning() -> None:
    extreme = np.array([[1e30, -1e30]], np.float32)
    assert softmax(extreme).tolist() == [[1.0, 0.0]]
    assert sigmoid(extreme).tolist() == [[1.0, 0.0]]


@settings(deadline=None)
@given(LOGITS, st.sampled_from([0.5, 1.0, 3.0]))
def test_the_label_has_the_greatest_probability_and_all_sum_to_one(logits: np.ndarray, temperature: float) -> None:
    labels = [f"class {number}" for number in range(logits.shape[1])]
    for answer in classified(logits, labels, temperature=temperature):
        assert answer.label is not None
        assert answer.probabilities[answer.label] == max(answer.probabilities.values())
        assert sum(answer.probabilities.values()) == pytest.approx(1)


def test_answers_are_json_in_the_words_of_the_contract() -> None:
    logits = np.array([[0.0, 0.0]], np.float32)
    assert json.loads(json.dumps(classified(logits, ["a", "b"])[0].to_dict())) == {
        "label": "a",
        "probabilities": {"a": 0.5, "b": 0.5},
    }
    assert json.loads(json.dumps(multi_labelled(logits, ["a", "b"])[0].to_dict())) == {
        "labels": ["a", "b"],
        "probabilities": {"a": 0.5, "b": 0.5},
    }
    assert json.loads(json.dumps(valued(np.float32([[2.5]]))[0].to_dict())) == {"value": 2.5}


def test_each_label_may_have_its_own_threshold() -> None:
    logits = np.log(np.array([[0.25, 4.0]]))  # probabilities 0.2 and 0.8
    assert multi_labelled(logits, ["a", "b"])[0].labels == ("b",)
    assert multi_labelled(logits, ["a", "b"], threshold=0.9)[0].labels == ()
    assert multi_labelled(logits, ["a", "b"], threshold={"a": 0.1})[0].labels == ("a", "b")


def test_the_temperature_is_where_scipy_finds_the_least_loss() -> None:
    chance = np.random.default_rng(0)
    logits = chance.normal(size=(400, 5)) * 6
    labels = (logits / 2.5 + chance.gumbel(size=logits.shape)).argmax(-1)  # drawn from softmax(logits / 2.5)
    scores, wanted = torch.from_numpy(logits), torch.from_numpy(labels)
    found = minimize_scalar(
        lambda t: float(torch.nn.functional.cross_entropy(scores / t, wanted)),
        bounds=(0.1, 10),
        options={"xatol": 1e-9},
    )
    assert fit_temperature(logits, labels) == pytest.approx(found.x, rel=1e-5)
    assert fit_temperature(logits, labels) == pytest.approx(2.5, rel=0.15)


def test_a_model_that_is_always_right_or_always_wrong_gets_a_temperature_within_bounds() -> None:
    logits = np.array([[3.0, 0.0]])
    assert 0.05 <= fit_temperature(logits, [0]) < 0.1
    assert fit_temperature(logits, [1]) == pytest.approx(20)


def slow_expected_error(probabilities: np.ndarray, right: np.ndarray) -> float:
    total = 0.0
    for number in range(15):
        inside = (probabilities > number / 15) & (probabilities <= (number + 1) / 15)
        if number == 0:
            inside |= probabilities == 0
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - probabilities[inside].mean())
    return total


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)), st.integers(0, 2**32 - 1))
def test_the_expected_error_is_the_weighted_sum_over_bins(probabilities: np.ndarray, seed: int) -> None:
    right = np.random.default_rng(seed).random(len(probabilities)) < probabilities
    found = calibration(probabilities, right)
    assert found.expected_error == pytest.approx(slow_expected_error(probabilities, right), abs=1e-12)
    assert sum(found.counts) == len(probabilities)
    assert len(found.edges) - 1 == len(found.counts) == len(found.accuracies) == len(found.confidences) == 15
