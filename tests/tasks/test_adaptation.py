"""Adaptation: what is frozen stays, rates fall by layer, and adversaries are those of a two-pass by hand."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from products import need_products_in
from torch import Tensor

from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.model.heads import BertWithHead, make_head
from unmask.tasks.adaptation import AdversarialLearner, adapted_groups, freeze
from unmask.tasks.classification import Classification
from unmask.tasks.finetuning import FineTuning, FineTuningSettings, TaskLearner
from unmask.tasks.task import TaskBatch, make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh"])
EXAMPLES = [TextExample("a b", label="no"), TextExample("c d e", label="yes"), TextExample("h f a", label="no")]
TASK = Classification.learned_from(EXAMPLES)
CONFIG = BertConfig(vocabulary_size=TOKENIZER.size, width=16, layers=3, heads=2, feed_forward=32, positions=16)


def fresh_model() -> BertWithHead:
    return BertWithHead(Bert(CONFIG, seed=3), make_head("classes", CONFIG, seed=4))


def tuned(folder: Path, **changes: object) -> BertWithHead:
    model = fresh_model()
    settings = FineTuningSettings(epochs=2, batch_size=2, learning_rate=1e-2, **changes)  # type: ignore[arg-type]
    tuning = FineTuning(folder, TASK, model, TOKENIZER, EXAMPLES, EXAMPLES, settings)
    tuning.resume()
    assert len(list(tuning.train())) == 4
    return model


def changed(before: BertWithHead, after: BertWithHead) -> set[str]:
    own = after.state_dict()
    return {".".join(name.split(".")[:3]) for name, value in before.state_dict().items() if not value.equal(own[name])}


def test_frozen_layers_stay_as_they_are(tmp_path: Path) -> None:
    moved = changed(fresh_model(), tuned(tmp_path, freeze="2"))
    assert {name.split(".weight")[0] for name in moved} >= {"bert.layers.2", "bert.pooler", "head.classifier"}
    assert not [name for name in moved if name.startswith(("bert.embeddings", "bert.layers.0", "bert.layers.1"))]


def test_a_tasks_own_segment_learns_below_frozen_layers() -> None:
    config = replace(CONFIG, segments=3)
    model = BertWithHead(Bert(config), make_head("span", config))
    freeze(model, "2")
    learning = {name for name, value in model.bert.embeddings.named_parameters() if value.requires_grad}
    assert learning == {"segments.weight"}
    freeze(model, "all")
    assert not any(value.requires_grad for value in model.bert.parameters())


def test_with_all_frozen_only_the_head_learns(tmp_path: Path) -> None:
    assert changed(fresh_model(), tuned(tmp_path, freeze="all")) == {"head.classifier.weight", "head.classifier.bias"}


@pytest.mark.parametrize("what", ["4", "-1", "some"])
def test_only_layers_that_exist_can_be_frozen(what: str) -> None:
    with pytest.raises(InputError, match="from 0 to 3"):
        freeze(fresh_model(), what)


def test_rates_fall_with_every_layer_below_the_head() -> None:
    model = fresh_model()
    groups = adapted_groups(TaskLearner(model, TASK), 0.01, 0.5)
    scales = {id(value): group["lr_scale"] for group in groups for value in group["params"]}
    decays = {id(value): group["weight_decay"] for group in groups for value in group["params"]}
    expected = {"embeddings": 1 / 16, "layers.0": 1 / 8, "layers.1": 1 / 4, "layers.2": 1 / 2}
    for name, value in model.named_parameters():
        place = name.removeprefix("bert.")
        scale = next((scale for prefix, scale in expected.items() if place.startswith(f"{prefix}.")), 1.0)
        assert scales[id(value)] == scale, name
        assert decays[id(value)] == (0.01 if value.ndim > 1 else 0.0)
    assert groups[0]["lr_scale"] == 1.0, "the rate that is reported is the head's"


def test_without_decay_all_learn_alike() -> None:
    assert all("lr_scale" not in group for group in adapted_groups(fresh_model(), 0.01, 1.0))


def moved_by_hand(model: BertWithHead, batch: TaskBatch, chance: Chance | None, epsilon: float) -> Tensor:
    """Clean loss and, sequence by sequence, the loss at perturbed copies of its own embedding rows."""
    words = model.bert.embeddings.words.weight
    clean = TASK.losses(model.learn(batch.ragged, chance), batch)[0]["class"]
    looked_up: list[Tensor] = []
    handle = model.bert.embeddings.words.register_forward_hook(lambda _, __, out: looked_up.append(out))
    loss = TASK.losses(model.learn(batch.ragged, chance), batch)[0]["class"]
    handle.remove()
    (gradient,) = torch.autograd.grad(loss, looked_up)
    parts = [part / part.norm() for part in gradient.split(batch.ragged.lengths.tolist())]
    moved = words[torch.from_numpy(batch.ragged.ids)] + epsilon * torch.cat(parts)
    handle = model.bert.embeddings.words.register_forward_hook(lambda *_: moved)
    perturbed = TASK.losses(model.learn(batch.ragged, chance), batch)[0]["class"]
    handle.remove()
    assert perturbed > loss
    return clean + perturbed


@pytest.mark.parametrize("frozen", ["", "1"])
def test_adversarial_losses_and_gradients_are_those_of_two_passes_by_hand(frozen: str) -> None:
    batch, chance = make_batch(TASK.rows(EXAMPLES, TOKENIZER), per_token=False), Chance(1, 2)
    ours, theirs = fresh_model(), fresh_model()
    for model in (ours, theirs):
        torch.nn.init.normal_(model.head.classifier.weight, generator=torch.Generator().manual_seed(1))  # type: ignore[union-attr, arg-type]
    freeze(ours, frozen)
    learner = AdversarialLearner(TaskLearner(ours, TASK), ours.bert.embeddings.words, 0.1)
    losses, figures = learner(batch, chance)
    slow = moved_by_hand(theirs, batch, chance, 0.1)
    assert torch.allclose(losses["class"], slow)
    assert figures.keys() == {"class_accuracy"}
    losses["class"].backward()
    slow.backward()
    for (name, one), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert one.grad is None if not one.requires_grad else torch.allclose(one.grad, other.grad, atol=1e-6), name  # type: ignore[arg-type]
    assert list(learner.state_dict()) == [f"learner.model.{name}" for name in ours.state_dict()]
    assert torch.equal(ours.bert.embeddings.words.weight, theirs.bert.embeddings.words.weight)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_adversarial_training_runs_through_the_loop(tmp_path: Path, precision: str) -> None:
    need_products_in(precision)
    after = tuned(tmp_path, adversarial=0.5, layer_decay=0.9, precision=precision)
    assert "bert.layers.0" in changed(fresh_model(), after)
