"""Muon: orthogonal steps for matrices inside layers, AdamW for all else."""

import math

import pytest
import torch
from products import need_products_in

from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.training import muon
from unmask.training.muon import orthogonalised, square_blocks
from unmask.training.optim import make_optimiser, muon_groups


@pytest.fixture
def bert() -> Bert:
    return Bert(BertConfig(vocabulary_size=20, width=8, layers=2, heads=2, feed_forward=32, positions=12))


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 8, 32), (2, 32, 8)])
def test_singular_values_become_about_one_and_directions_stay(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    moved = left.mT @ orthogonalised(matrices) @ right.mT  # diagonal where the directions are kept
    values = torch.diagonal(moved, dim1=1, dim2=2)
    assert (moved - torch.diag_embed(values)).abs().max() < 1e-3
    large = torch.linalg.svdvals(matrices) > 0.3  # the smallest ones are not lifted all the way in five iterations
    assert ((values[large] > 0.6) & (values[large] < 1.25)).all()


def test_both_ways_of_computing_agree_on_badly_conditioned_matrices() -> None:
    x = torch.randn(2, 16, 64, generator=torch.Generator().manual_seed(1)) * torch.logspace(0, -3, 16)[None, :, None]
    x = x / x.norm(dim=(1, 2), keepdim=True)
    assert torch.allclose(muon._by_itself(x), muon._by_products_of_itself(x), atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 16, 16), (2, 16, 64), (2, 64, 16)])
def test_bfloat16_products_keep_the_direction_of_a_step(shape: tuple[int, ...]) -> None:
    need_products_in("bfloat16")
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * torch.logspace(0, -2, shape[2])
    full, halved = orthogonalised(matrices), orthogonalised(matrices, torch.bfloat16).float()
    assert torch.cosine_similarity(full.flatten(), halved.flatten(), dim=0) > 0.99
    assert torch.linalg.svdvals(halved).max() < 1.3


def test_steps_in_bfloat16_leave_weights_and_state_in_float32(bert: Bert) -> None:
    need_products_in("bfloat16")
    optimiser = make_optimiser("muon", bert, precision=torch.bfloat16)
    for group in optimiser.param_groups:
        group["lr"] = 0.1
    before = bert.layers[0].up.weight.clone()
    for parameter in bert.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    optimiser.step()
    assert not torch.equal(before, bert.layers[0].up.weight)
    assert {value.dtype for state in optimiser.state.values() for value in state.values()} == {torch.float32}


def test_every_parameter_is_in_exactly_one_group(bert: Bert) -> None:
    groups = muon_groups(bert, 0.01)
    grouped = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(id(parameter) for parameter in bert.parameters())
    orthogonal = {id(parameter) for group in groups if group.get("orthogonal") for parameter in group["params"]}
    named = {name for name, parameter in bert.named_parameters() if id(parameter) in orthogonal}
    parts = ("qkv", "attention_out", "up", "down")
    assert named == {f"layers.{layer}.{part}.weight" for layer in (0, 1) for part in parts}


def test_a_step_is_the_decayed_weight_less_the_orthogonal_momentum(bert: Bert) -> None:
    optimiser = make_optimiser("muon", bert)
    weight = bert.layers[0].up.weight
    before, gradients = weight.detach().clone(), [torch.randn_like(weight) for _ in range(2)]
    expected, momentum, rate = before, torch.zeros_like(before), 0.01
    for gradient in gradients:
        weight.grad = gradient.clone()
        momentum = muon.MOMENTUM * momentum + gradient
        step = orthogonalised((gradient + muon.MOMENTUM * momentum)[None])[0]
        orthogonal = next(group for group in optimiser.param_groups if group.get("orthogonal"))
        orthogonal["lr"] = rate
        expected = expected * (1 - rate * orthogonal["weight_decay"]) - rate * muon.LIKE_ADAM * math.sqrt(32) * step
        optimiser.step()
    assert torch.allclose(weight.detach(), expected, atol=1e-6)


def test_queries_keys_and_values_are_orthogonalised_apart(bert: Bert) -> None:
    optimiser = make_optimiser("muon", bert)
    for group in optimiser.param_groups:
        group["lr"] = 1.0
        group["weight_decay"] = 0.0
    weight = bert.layers[0].qkv.weight
    before = weight.detach().clone()
    weight.grad = torch.randn_like(weight) * torch.tensor([1e-3, 1.0, 1e3]).repeat_interleave(8)[:, None]
    optimiser.step()
    norms = [block.norm() for block in square_blocks(weight.detach() - before)]
    assert max(norms) / min(norms) < 1.5


def test_everything_else_moves_as_by_adamw(bert: Bert) -> None:
    twin = Bert(bert.config)
    ours, theirs = make_optimiser("muon", bert), make_optimiser("adamw", twin)
    for model, optimiser in ((bert, ours), (twin, theirs)):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.1)
        for group in optimiser.param_groups:
            group["lr"] = 1e-3
        optimiser.step()
    assert torch.equal(bert.embeddings.words.weight, twin.embeddings.words.weight)
    assert not torch.equal(bert.layers[0].up.weight, twin.layers[0].up.weight)
