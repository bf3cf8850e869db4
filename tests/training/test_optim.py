import pytest
import torch
from torch import nn

from unmask.training.optim import make_optimiser, parameter_groups
from unmask.training.schedule import Schedule


def test_biases_and_norms_are_not_decayed() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    decayed, kept = parameter_groups(model, 0.01)
    assert [tuple(part.shape) for part in decayed["params"]] == [(4, 3)]
    assert {tuple(part.shape) for part in kept["params"]} == {(4,)}
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.01, 0.0)


def test_frozen_parameters_are_left_out() -> None:
    model = nn.Linear(3, 4).requires_grad_(False)
    assert parameter_groups(model, 0.01) == []


def test_lamb_takes_the_step_of_the_paper() -> None:
    model = nn.Linear(2, 1, bias=False)
    weight, gradient = torch.tensor([[3.0, 4.0]]), torch.tensor([[0.5, -2.0]])
    model.weight.data.copy_(weight)
    optimiser = make_optimiser("lamb", model, decay=0.01, epsilon=0.0)
    for group in optimiser.param_groups:
        group["lr"] = 0.1
    model.weight.grad = gradient
    optimiser.step()
    update = gradient.sign() + 0.01 * weight  # at the first step m/sqrt(v) is the gradient's sign
    torch.testing.assert_close(model.weight.data, weight - 0.1 * weight.norm() / update.norm() * update)


@pytest.mark.parametrize("name", ["adamw", "muon", "lamb"])
def test_both_optimisers_learn(name: str) -> None:
    torch.manual_seed(0)
    model, rows = nn.Linear(4, 1), torch.randn(64, 4)
    optimiser = make_optimiser(name, model)
    losses = []
    for _ in range(150):
        for group in optimiser.param_groups:
            group["lr"] = 0.05
        loss = (model(rows).squeeze(1) - rows.sum(1)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 20


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_the_learning_rate_rises_then_ends_at_its_final_value(shape: str) -> None:
    rate = Schedule(peak=1e-3, steps=100, warmup=10, shape=shape, final=1e-5)
    values = [rate(step) for step in range(101)]
    assert max(values) == values[9] == values[10] == 1e-3
    assert values[:10] == sorted(values[:10])
    assert values[10:] == sorted(values[10:], reverse=True)
    assert values[100] == pytest.approx(1e-5)
