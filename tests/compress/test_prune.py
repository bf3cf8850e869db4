"""Pruning: what stays computes what it did, folders get smaller and open again, importance is what taking out costs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from stores import EXAMPLES, TASK, TOKENIZER, classifier, config, model
from torch import Tensor, nn

from unmask.compress.importance import importance, importance_by_weights
from unmask.compress.prune import (
    best_heads,
    best_neurons,
    keep_heads,
    keep_layers,
    keep_neurons,
    layer_choices,
)
from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.folder import count_parameters, open_model, save_model
from unmask.model.heads import BertWithHead
from unmask.tasks.task import make_batch

BATCH = pack([[2, 7, 8, 9, 3], [2, 11, 3], [2, 9, 9, 12, 3]])
KEPT = [[1, 3], [0, 1, 2, 3], [2]]


def _silence_heads(whole: BertWithHead, kept: list[list[int]]) -> None:
    """The obvious way: a head that is not kept says nothing, since `attention_out` does not listen to it."""
    with torch.no_grad():
        for layer, heads in zip(whole.bert.layers, kept, strict=True):
            columns = layer.attention_out.weight.view(32, 4, 8)
            for head in set(range(4)) - set(heads):
                columns[:, head] = 0


def test_a_model_without_heads_says_what_it_would_with_their_outputs_at_zero() -> None:
    whole = classifier()
    pruned = keep_heads(whole, KEPT)
    assert not torch.allclose(pruned(BATCH), whole(BATCH), atol=1e-3)
    _silence_heads(whole, KEPT)
    assert torch.allclose(pruned(BATCH), whole(BATCH), atol=1e-6)


def test_heads_can_be_taken_out_twice() -> None:
    whole = classifier()
    twice = keep_heads(keep_heads(whole, [[0, 1, 3], [0, 1, 2, 3], [1, 2]]), [[1, 2], [0, 1, 2, 3], [1]])
    assert twice.bert.config.pruned_heads == ((0, 2), (), (0, 1, 3))
    assert torch.equal(twice(BATCH), keep_heads(whole, KEPT)(BATCH))


def test_a_model_without_neurons_says_what_it_would_with_their_outputs_at_zero() -> None:
    whole, kept = classifier(), [[0, 5, 40], [1, 2, 3], [9, 8, 7]]
    pruned = keep_neurons(whole, kept)
    with torch.no_grad():
        for layer, neurons in zip(whole.bert.layers, kept, strict=True):
            layer.down.weight[:, [n for n in range(48) if n not in neurons]] = 0
    assert torch.allclose(pruned(BATCH), whole(BATCH), atol=1e-5)


def test_a_model_without_layers_says_what_it_would_if_they_passed_their_input_on() -> None:
    class Passed(nn.Module):
        def forward(self, x: Tensor, *_: object) -> Tensor:
            return x

    whole = keep_heads(classifier(), KEPT)
    pruned = keep_layers(whole, [0, 2])
    assert pruned.bert.config.pruned_heads == ((0, 2), (0, 1, 3))
    whole.bert.layers[1] = Passed()  # type: ignore[index]
    assert torch.equal(pruned(BATCH), whole(BATCH))


def test_a_pruned_folder_is_smaller_and_answers_the_same_after_reload(tmp_path: Path) -> None:
    about = About(head="classes", labels=TASK.labels)
    pruned = keep_neurons(keep_heads(classifier(), KEPT), [list(range(24))] * 3)
    for name, one in {"whole": classifier(), "pruned": pruned}.items():
        save_model(tmp_path / name, one.bert.config, one, TOKENIZER, about)
    opened = open_model(tmp_path / "pruned")
    assert opened.config == pruned.bert.config
    assert opened.config.parameters + 32 * 2 + 2 == count_parameters(pruned)
    assert torch.equal(opened.model(BATCH), pruned(BATCH))
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("pruned", "whole")]
    assert sizes[0] < 0.8 * sizes[1]


def test_a_folder_whose_tensors_are_not_what_its_configuration_says_is_refused(tmp_path: Path) -> None:
    pruned = keep_heads(classifier(), KEPT)
    save_model(tmp_path / "one", pruned.bert.config, pruned, TOKENIZER, About(head="classes", labels=TASK.labels))
    path = tmp_path / "one" / "config.json"
    path.write_text(path.read_text().replace('"pruned_heads"', '"lost_heads"'))
    with pytest.raises(InputError, match=r"attention\.self\.query"):
        open_model(tmp_path / "one")


def test_the_importance_of_a_head_is_the_gradient_of_a_gate_on_it() -> None:
    whole = classifier()
    rows = TASK.rows(EXAMPLES[:6], TOKENIZER)
    found = importance(whole, TASK, rows)
    slow = np.zeros(4)
    for row in rows:
        gate = torch.ones(4, requires_grad=True)
        handle = whole.bert.layers[1].attention_out.register_forward_pre_hook(
            lambda _, inputs, gate=gate: (inputs[0] * gate.repeat_interleave(8),)
        )
        batch = make_batch([row], per_token=False)
        loss = TASK.losses(whole.learn(batch.ragged, None), batch)[0]["class"]
        slow += torch.autograd.grad(loss, gate)[0].abs().numpy()
        handle.remove()
    np.testing.assert_allclose(found.heads[1], slow / np.linalg.norm(slow), rtol=1e-4)


def test_a_neuron_or_layer_that_does_nothing_has_no_importance() -> None:
    whole = classifier()
    with torch.no_grad():
        whole.bert.layers[0].down.weight[:, 7] = 0
    found = importance(whole, TASK, TASK.rows(EXAMPLES[:6], TOKENIZER))
    assert found.neurons[0][7] == 0
    assert (np.delete(found.neurons[0], 7) > 0).all()
    assert found.layers.shape == (3,)
    assert (found.layers > 0).all()
    by_weights = importance_by_weights(whole.bert)
    assert by_weights.neurons[0][7] == 0
    assert [len(heads) for heads in by_weights.heads] == [4, 4, 4]


def test_every_layer_keeps_a_head_and_all_layers_as_many_neurons() -> None:
    heads = [np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.1, 0.3, 0.2, 0.1])]
    assert best_heads(heads, 0.25) == [[0], [1]]
    assert best_heads(heads, 0.01) == [[0], [1]]
    assert best_heads(heads, 1.0) == [[0, 1, 2, 3]] * 2
    assert best_neurons(heads, 0.5) == [[0, 1], [1, 2]]


def test_a_share_or_a_number_of_layers_beyond_what_is_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"1\.5"):
        best_heads([np.ones(4)], 1.5)
    with pytest.raises(InputError, match="1 to 3"):
        layer_choices(np.ones(3), 4)


def test_a_bare_encoder_can_be_pruned_too() -> None:
    bare = model(None)
    assert isinstance(bare, Bert)
    assert keep_heads(bare, KEPT)(BATCH).hidden.shape == (13, 32)
    assert config().pruned_heads == ()
