"""Choosing an ending: against torch."""

import numpy as np
import pytest
import torch

from unmask.decode.choices import chosen


def test_the_choice_is_the_likeliest_ending_and_questions_may_differ_in_number() -> None:
    rows = [np.array([0.0, 2.0, 1.0], np.float32), np.array([3.0, 3.0], np.float32)]
    answers = chosen(rows)
    assert [answer.choice for answer in answers] == [1, 0]
    for row, answer in zip(rows, answers, strict=True):
        assert answer.probabilities == pytest.approx(torch.from_numpy(row).double().softmax(-1).tolist())
    assert answers[1].to_dict() == {"choice": 0, "probabilities": [0.5, 0.5]}
