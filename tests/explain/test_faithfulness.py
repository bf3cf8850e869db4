"""Faithfulness on a model that looks at one word and nothing else: the true explanation is told from chance."""

from typing import Any

import numpy as np
import pytest
import torch
from small_models import small_model
from torch import Tensor, nn

from unmask.explain.erasure import leave_one_out, shapley
from unmask.explain.faithfulness import faithfulness, measured
from unmask.explain.gradients import integrated_gradients
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead

TEXT = "the quick brown fox was not what they had hoped for and yet nobody was lazy by it and a dog had to go to see it"
FEW = "they hoped nobody was lazy"
DECIDING = TEXT.split().index("hoped")


class LooksForOneWord(nn.Module):
    """Class 2 where the embeddings of one word are among the inputs."""

    reads_layers = True

    def __init__(self, word: Tensor, other: Tensor) -> None:
        super().__init__()
        self.word, self.other = word, other

    def forward(self, encoded: Any) -> Tensor:
        parts = encoded.layers[0].split([count * length for count, length in encoded.stacks])
        shaped = [part.view(count, length, -1) for part, (count, length) in zip(parts, encoded.stacks, strict=True)]
        seen = torch.cat([part.sum(1) @ self.word for part in shaped])  # (B,)
        return torch.stack([torch.zeros_like(seen), torch.zeros_like(seen), self.other * seen], -1)


@pytest.fixture(scope="module")
def rigged() -> ModelFolder:
    """A model whose positions and segments say nothing, and whose words are all alike but one."""
    opened = small_model("classes")
    assert isinstance(opened.model, BertWithHead)
    bert = opened.model.bert
    bert.embeddings.norm = nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        for table in (bert.embeddings.words, bert.embeddings.positions, bert.embeddings.segments):
            table.weight.zero_()
        bert.embeddings.words.weight[opened.tokenizer.pieces.index("hoped"), 0] = 1.0
    head = LooksForOneWord(torch.eye(opened.config.width)[0], torch.tensor(3.0))
    return ModelFolder(opened.config, BertWithHead(bert, head), opened.tokenizer, opened.about, opened.report)


@pytest.fixture(scope="module")
def subject(rigged: ModelFolder) -> Subject:
    return subject_of(rigged, TEXT, target="good")


@pytest.mark.parametrize("method", [integrated_gradients, leave_one_out, shapley])
def test_every_method_finds_the_one_word(subject: Subject, method: Any) -> None:
    scores = method(subject).scores
    assert scores.argmax() == DECIDING
    np.testing.assert_allclose(np.delete(scores, DECIDING), 0, atol=1e-6)


def test_the_true_explanation_is_better_than_chance(subject: Subject) -> None:
    found = faithfulness(subject, leave_one_out(subject).scores, seed=1)
    assert found.better_than_chance
    assert "better than chance (p" in found.verdict
    assert found.comprehensiveness > 3 * found.random
    assert found.sufficiency == pytest.approx(0, abs=1e-6)
    assert found.deletion < found.random_deletion < found.random_insertion < found.insertion


def test_a_random_explanation_is_no_better_than_chance_and_says_so(subject: Subject) -> None:
    scores = np.zeros(len(subject.reading.words))
    scores[[0, 1, 2]] = 3, 2, 1
    found = faithfulness(subject, scores)
    assert not found.better_than_chance
    assert found.verdict.startswith("no better than chance on this model and text")


def test_of_random_scores_few_are_called_better_than_chance(subject: Subject) -> None:
    scores = np.random.default_rng(5).random((20, len(subject.reading.words)))
    found = [faithfulness(subject, own, seed=seed, orders=39) for seed, own in enumerate(scores)]
    assert sum(one.better_than_chance for one in found) <= 4  # 1 expected


def test_one_deciding_word_of_few_is_said_to_be_found_by_luck_as_well(rigged: ModelFolder) -> None:
    subject = subject_of(rigged, FEW, target="good")
    found = faithfulness(subject, leave_one_out(subject).scores)
    assert found.beaten == 0
    assert found.verdict.startswith("no order that was tried does better")


def test_too_few_random_orders_decide_nothing(subject: Subject) -> None:
    assert faithfulness(subject, leave_one_out(subject).scores, orders=5).verdict.startswith("undecided")


def test_figures_are_those_of_their_definitions() -> None:
    subject = subject_of(small_model("classes"), "the fox was lazy")
    order = np.array([[2, 0, 3, 1]])
    found = measured(subject, order, shares=(0.25, 0.5))

    def probability(*kept: int) -> float:
        return float(subject.probabilities(np.isin(np.arange(4), kept)[None])[0])

    whole = probability(0, 1, 2, 3)
    gone = [whole, probability(0, 1, 3), probability(1, 3), probability()]
    there = [probability(), probability(2), probability(0, 2), whole]
    assert found.comprehensiveness[0] == pytest.approx(whole - (gone[1] + gone[2]) / 2, abs=1e-6)
    assert found.sufficiency[0] == pytest.approx(whole - (there[1] + there[2]) / 2, abs=1e-6)
    assert found.deletion[0] == pytest.approx(np.trapezoid(gone, [0, 0.25, 0.5, 1]), abs=1e-6)
    assert found.insertion[0] == pytest.approx(np.trapezoid(there, [0, 0.25, 0.5, 1]), abs=1e-6)
