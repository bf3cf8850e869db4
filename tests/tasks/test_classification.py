"""Classes and values of texts: rows, losses, answers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from unmask.data.examples import TextExample
from unmask.tasks.classification import TEMPERATURE, Classification, of_examples
from unmask.tasks.regression import Regression
from unmask.tasks.task import make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh"])
EXAMPLES = [TextExample("a b", label="no"), TextExample("c", "d e f g", "yes"), TextExample("h", label="no")]


def test_labels_are_those_of_the_examples_in_order() -> None:
    assert Classification.learned_from(EXAMPLES).labels == ("no", "yes")
    numbered = [TextExample("a", label=str(number)) for number in (10, 9)]
    assert Classification.learned_from(numbered).labels == ("9", "10")


def test_the_loss_is_the_sum_of_cross_entropies() -> None:
    task = Classification.learned_from(EXAMPLES)
    batch = make_batch(task.rows(EXAMPLES, TOKENIZER), task.per_token)
    outputs = torch.randn(3, 2, generator=torch.Generator().manual_seed(1))  # in the order of the ragged batch
    losses, figures = task.losses(outputs, batch)
    labels = torch.tensor([0, 1, 0])[torch.from_numpy(batch.ragged.order.copy())]
    assert torch.allclose(losses["class"], F.cross_entropy(outputs, labels, reduction="sum"))
    assert figures["class_accuracy"] == (outputs.argmax(-1) == labels).sum()
    assert task.counts(batch) == {"class": 3.0}


def test_weights_make_every_class_count_the_same() -> None:
    task = Classification.learned_from(EXAMPLES).weighted(EXAMPLES)
    batch = make_batch(task.rows(EXAMPLES, TOKENIZER), task.per_token)
    outputs = torch.zeros(3, 2, requires_grad=True)
    task.losses(outputs, batch)[0]["class"].backward()
    assert outputs.grad is not None
    assert torch.allclose(outputs.grad.sum(0), torch.zeros(2), atol=1e-6)


def test_windows_of_a_text_are_learned_and_answered_as_one() -> None:
    task = Classification(("no", "yes"), longest=4, long_text="windows")
    examples = [TextExample("a b c d e", label="yes"), TextExample("f", label="no")]
    rows = task.rows(examples, TOKENIZER)
    assert [row.example for row in rows] == [0, 0, 0, 0, 1]
    batch = make_batch(rows, task.per_token)
    outputs = torch.randn(5, 2, generator=torch.Generator().manual_seed(1))
    losses, _ = task.losses(outputs, batch)
    by_example = [outputs[torch.from_numpy(batch.groups == number)].mean(0) for number in (0, 1)]
    assert torch.allclose(
        losses["class"], F.cross_entropy(torch.stack(by_example), torch.tensor([1, 0]), reduction="sum")
    )
    raw = [output.numpy() for output in outputs]
    answers = task.answers(examples, rows, raw)
    assert np.allclose(of_examples(2, rows, raw)[0], outputs[:4].mean(0).numpy(), atol=1e-6)
    assert [answer.to_dict()["label"] for answer in answers] == [
        task.labels[int(outputs[:4].mean(0).argmax())],
        task.labels[int(outputs[4].argmax())],
    ]


def test_several_labels_at_once() -> None:
    examples = [TextExample("a", label=("red", "round")), TextExample("b", label=()), TextExample("c", label=("red",))]
    task = Classification.learned_from(examples)
    assert task.multi_label
    assert task.labels == ("red", "round")
    batch = make_batch(task.rows(examples, TOKENIZER), task.per_token)
    outputs = torch.tensor([[4.0, 4.0], [-4.0, -4.0], [4.0, -4.0]])
    losses, figures = task.losses(outputs, batch)
    assert losses["class"] < 0.1
    assert figures["class_accuracy"] == 3
    answers = task.answers(examples, task.rows(examples, TOKENIZER), list(outputs.numpy()))
    assert task.scores(examples, answers)["micro_f1"] == 1.0


def test_the_temperature_is_fitted_and_kept() -> None:
    task = Classification(("no", "yes"))
    examples = [TextExample("a", label="yes")] * 60 + [TextExample("a", label="no")] * 20
    rows = task.rows(examples, TOKENIZER)
    sure = [np.array([0.0, 9.0], np.float32)] * 80
    assert task.calibrated(examples[:60], rows[:60], sure[:60]) == task  # no mistake: nothing to learn from
    warm = task.calibrated(examples, rows, sure)
    probabilities = warm.answers(examples, rows, sure)[0].probabilities
    assert probabilities["yes"] == pytest.approx(0.75, abs=0.01)
    assert replace(warm, thresholds={}) == task
    assert warm.about["thresholds"][TEMPERATURE] > 1


def test_values_are_learned_by_squared_error() -> None:
    examples = [TextExample("a b", label=1.0), TextExample("c", label=4.0)]
    task = Regression.learned_from(examples)
    batch = make_batch(task.rows(examples, TOKENIZER), task.per_token)
    outputs = torch.tensor([[3.0], [2.0]])  # the shorter text first
    losses, _ = task.losses(outputs, batch)
    assert losses["value"] == (3 - 4) ** 2 + (2 - 1) ** 2
    answers = task.answers(examples, task.rows(examples, TOKENIZER), [np.array([1.5]), np.array([3.5])])
    assert [answer.to_dict() for answer in answers] == [{"value": 1.5}, {"value": 3.5}]
    assert task.scores(examples, answers)["spearman"] == pytest.approx(1.0)
