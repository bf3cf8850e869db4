import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from products import need_products_in

from unmask.data.ragged import pack
from unmask.data.store import Store
from unmask.errors import InputError
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.tasks.objectives import OBJECTIVES, Learner, PretrainingBatch, counts, make_model, needs_pooler
from unmask.tasks.pretraining import Batches, PretrainingSettings
from unmask.text.tokenizer import Tokenizer
from unmask.training.loop import train
from unmask.training.optim import make_optimiser

BATCH = PretrainingBatch(
    pack([[2, 7, 8, 3], [2, 9, 3], [2, 10, 11, 12, 3]]),
    np.array([1, 4, 8, 10]),
    np.array([20, 21, 22, 23]),
    np.array([0, 1, 1]),
)


def learner_for(objective: str, vocabulary_size: int = 40, seed: int = 0) -> Learner:
    config = BertConfig(
        vocabulary_size=vocabulary_size, width=32, layers=2, heads=4, feed_forward=64, positions=64,
        pooler=needs_pooler(objective), initial_deviation=0.05,
    )  # fmt: skip
    return Learner(make_model(config, objective, seed), objective)


def total(learner: Learner, batch: PretrainingBatch) -> dict[str, float]:
    return {name: float(loss.detach()) for name, loss in learner(batch, None)[0].items()}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_word_label_moves_the_loss_that_owns_it_and_no_other(objective: str) -> None:
    learner = learner_for(objective)
    before = total(learner, BATCH)
    for place in range(len(BATCH.targets)):
        targets = BATCH.targets.copy()
        targets[place] = 30
        after = total(learner, replace(BATCH, targets=targets))
        moved = {name for name in before if abs(before[name] - after[name]) > 1e-5}
        assert moved == {name for name in before if name in ("mlm", "clm", "context")}


@pytest.mark.parametrize(("objective", "owner"), [("mlm+nsp", "nsp"), ("mlm+sop", "sop")])
def test_every_pair_label_moves_the_loss_that_owns_it_and_no_other(objective: str, owner: str) -> None:
    learner = learner_for(objective)
    before = total(learner, BATCH)
    for place in range(len(BATCH.labels)):
        labels = BATCH.labels.copy()
        labels[place] = 1 - labels[place]
        after = total(learner, replace(BATCH, labels=labels))
        assert {name for name in before if abs(before[name] - after[name]) > 1e-6} == {owner}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_parameter_gets_a_gradient(objective: str) -> None:
    learner = learner_for(objective)
    sum(learner(BATCH, None)[0].values()).backward()
    assert [name for name, part in learner.named_parameters() if part.grad is None] == []


@pytest.mark.parametrize("objective", ["mlm+nsp", "clm"])
def test_at_the_start_every_word_is_as_likely_as_any_other(objective: str) -> None:
    found = total(learner_for(objective, 1000), BATCH)
    word = found.get("mlm", found.get("clm"))
    assert word is not None
    assert word / 4 == pytest.approx(math.log(1000), abs=0.5)
    if "nsp" in found:
        assert found["nsp"] / 3 == pytest.approx(math.log(2), abs=0.1)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_batch_can_be_learned_by_heart(objective: str, store: Store, tokenizer: Tokenizer) -> None:
    settings = PretrainingSettings(objective=objective, lengths=(48,), batch_tokens=192, part_tokens=192)
    part = Batches(store, np.arange(store.document_count), tokenizer, settings).parts(0, 48)
    learner = learner_for(objective, tokenizer.size)
    steps = list(
        train(
            learner, lambda _: part, make_optimiser("adamw", learner), lambda _: 4e-3, steps=range(100), dropout=False
        )
    )
    for name, share in steps[-1].figures.items():
        # left to right the first words of a story cannot be known; a word may belong to several contexts
        assert share > {"clm_accuracy": 0.7, "context_accuracy": 0.6}.get(name, 0.95), name
    assert steps[-1].loss < steps[0].loss / 3


def test_context_matching_prefers_a_words_own_context() -> None:
    learner = learner_for("mlm+context")
    optimiser = torch.optim.Adam(learner.parameters(), 1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        learner(BATCH, None)[0]["context"].backward()
        optimiser.step()
    assert learner.matching is not None
    logits = learner.matching(learner.model.bert(BATCH.ragged), torch.from_numpy(BATCH.targets))
    assert logits.argmax(-1).tolist() == [0, 1, 2, 2]


def test_counts_are_the_number_of_labels() -> None:
    assert counts(BATCH, "mlm+nsp") == {"mlm": 4.0, "nsp": 3.0}
    assert counts(BATCH, "clm") == {"clm": 4.0}


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(InputError, match="objective 'magic'"):
        make_model(BertConfig.named("tiny"), "magic", 0)


@pytest.mark.parametrize("dropout", [False, True])
def test_half_precision_products_give_nearly_the_same_losses_and_gradients(dropout: bool) -> None:
    need_products_in("bfloat16")
    found = []
    for precision in (torch.float32, torch.bfloat16):
        learner = learner_for("mlm+nsp")
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            losses, _ = learner(BATCH, Chance(0, 0) if dropout else None)
        sum(losses.values()).backward()
        found.append((losses, learner.model.bert.layers[0].qkv.weight.grad))
    (full, gradient), (half, half_gradient) = found
    for name in full:
        assert float(half[name].detach()) == pytest.approx(float(full[name].detach()), rel=0.02)
    assert torch.nn.functional.cosine_similarity(gradient.flatten(), half_gradient.flatten(), dim=0) > 0.99
