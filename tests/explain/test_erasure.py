"""Erasure: one word less, and Shapley values as their definition has them."""

from itertools import permutations

import numpy as np
import pytest
from small_models import small_model

from unmask.errors import InputError
from unmask.explain.erasure import exact_shapley, leave_one_out, sampled_shapley, shapley
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.model.outputs import outputs_of

TEXT = "the quick fox was not what they had hoped for"


def by_definition(subject: Subject) -> list[float]:
    """The mean of what a word adds over all orders."""
    count = len(subject.reading.words)
    added = np.zeros(count)
    orders = list(permutations(range(count)))
    for order in orders:
        kept = np.zeros((count + 1, count), bool)
        for place, word in enumerate(order):
            kept[place + 1 :, word] = True
        added[list(order)] += np.diff(subject.scores(kept))
    return (added / len(orders)).tolist()


def test_the_shapley_values_of_four_words_are_those_of_all_orders() -> None:
    subject = subject_of(small_model("classes"), "the foxs was lazy")
    assert len(subject.reading.words) == 4
    np.testing.assert_allclose(shapley(subject).scores, by_definition(subject), atol=1e-6)


def test_sampled_values_are_near_the_exact_ones_and_sum_up_alike() -> None:
    subject = subject_of(small_model("classes"), TEXT)
    exact, sampled = exact_shapley(subject), sampled_shapley(subject, orders=60, seed=1)
    assert sampled.standard_errors is not None
    assert (np.abs(sampled.scores - exact.scores) < 4 * sampled.standard_errors + 1e-9).all()
    assert sampled.scores.sum() == pytest.approx(exact.scores.sum(), abs=1e-5)


def test_the_standard_error_falls_with_more_orders() -> None:
    subject = subject_of(small_model("classes"), TEXT)
    few, many = (sampled_shapley(subject, orders=orders).standard_errors for orders in (8, 128))
    assert few is not None
    assert many is not None
    assert many.mean() < few.mean() / 2


def test_many_words_are_sampled_and_too_few_orders_refused() -> None:
    subject = subject_of(small_model("classes"), TEXT)
    np.testing.assert_array_equal(shapley(subject, seed=3).scores, sampled_shapley(subject, seed=3).scores)
    with pytest.raises(InputError, match="at least 4"):
        shapley(subject, orders=2)


@pytest.mark.parametrize(("erased", "without"), [("mask", "the [MASK] was lazy"), ("remove", "the was lazy")])
def test_a_word_left_out_is_a_text_without_it(erased: str, without: str) -> None:
    opened = small_model("classes")
    subject = subject_of(opened, "the fox was lazy", target="good")
    texts = [subject_of(opened, text) for text in ("the fox was lazy", without)]
    whole, less = (outputs_of(opened.model, [one.reading.rows[0]])[0][2] for one in texts)  # type: ignore[arg-type,list-item]
    assert leave_one_out(subject, erased=erased).scores[1] == pytest.approx(whole - less, abs=1e-5)


def test_copies_of_many_lengths_are_scored_as_if_alone() -> None:
    subject = subject_of(small_model("tokens"), TEXT, target="fox=PER")
    kept = np.random.default_rng(0).random((40, len(subject.reading.words))) < 0.5
    for erased in ("mask", "remove"):
        alone = [subject.scores(one[None], erased=erased)[0] for one in kept]
        np.testing.assert_allclose(subject.scores(kept, erased=erased), alone, atol=1e-5)


def test_an_unknown_way_to_erase_is_refused() -> None:
    with pytest.raises(InputError, match="mask or remove"):
        leave_one_out(subject_of(small_model("classes"), TEXT), erased="burn")
