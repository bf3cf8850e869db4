import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.model.dropout import Chance
from unmask.training.loop import Part, Step, train
from unmask.training.optim import make_optimiser
from unmask.training.schedule import Schedule

ROWS = torch.linspace(-1, 1, 12).view(6, 2)


class Line(nn.Module):
    """Learns to sum its inputs; reports how many rows it has nearly right."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)
        nn.init.constant_(self.linear.weight, 0.1)
        nn.init.zeros_(self.linear.bias)

    def forward(self, rows: Tensor, _: Chance | None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        error = self.linear(rows).squeeze(1) - rows.sum(1)
        return {"line": error.square().sum()}, {"line_accuracy": (error.abs() < 0.05).sum()}


def in_parts(*sizes: int) -> Sequence[Part]:
    return [Part(i, rows, len(rows), {"line": len(rows)}) for i, rows in enumerate(ROWS.split(list(sizes)))]


def run(*sizes: int, steps: int = 3, clip: float = 0.0, rate: float = 0.1) -> tuple[Line, list[Step]]:
    learner = Line()
    optimiser = make_optimiser("adamw", learner, decay=0.0)
    taken = train(
        learner,
        lambda _: in_parts(*sizes),
        optimiser,
        Schedule(rate, steps, shape="constant"),
        steps=range(steps),
        clip=clip,
    )
    return learner, list(taken)


def test_it_learns() -> None:
    _, steps = run(6, steps=120)
    assert steps[0].loss > 0.1 > 0.001 > steps[-1].loss
    assert steps[-1].figures["line_accuracy"] > 0.9


@pytest.mark.parametrize("sizes", [(2, 4), (1, 2, 3), (3, 3)])
def test_accumulated_parts_give_the_gradient_of_one_big_batch(sizes: tuple[int, ...]) -> None:
    (whole, expected), (parts, found) = run(6), run(*sizes)
    torch.testing.assert_close(parts.linear.weight, whole.linear.weight)
    for one, other in zip(found, expected, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-5)
        assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-5)


def test_processes_whose_gradients_are_averaged_take_the_step_of_one() -> None:
    """Three processes see two rows each; an engine averages their gradients, and `world` makes that the whole mean."""
    gradients = []
    for rows in ROWS.split(2):
        learner = Line()
        optimiser = make_optimiser("adamw", learner)
        optimiser.zero_grad = lambda **_: None  # type: ignore[method-assign]
        part = Part(0, rows, len(rows), {"line": len(rows)})
        steps = train(
            learner,
            lambda _, part=part: [part],
            optimiser,
            lambda _: 0.0,
            steps=range(1),
            clip=0,
            world=3,
            gather=lambda totals: {name: 3 * value for name, value in totals.items()},
        )
        list(steps)
        gradients.append(learner.linear.weight.grad)
    whole = Line()
    whole(ROWS, None)[0]["line"].div(6).backward()
    torch.testing.assert_close(torch.stack(gradients).mean(0), whole.linear.weight.grad)


def test_clipping_bounds_the_gradient_but_reports_it_as_it_was() -> None:
    _, (step,) = run(6, steps=1, clip=1e-3)
    _, (free,) = run(6, steps=1)
    assert step.gradient_norm == pytest.approx(free.gradient_norm)


def test_a_loss_that_is_no_number_stops_the_training_and_says_where() -> None:
    bad = [Part(0, ROWS * math.nan, 6, {"line": 6})]
    learner = Line()
    steps = train(
        learner,
        lambda step: bad if step == 2 else in_parts(6),
        make_optimiser("adamw", learner),
        lambda _: 0.1,
        steps=range(5),
    )
    with pytest.raises(InputError, match="at step 3"):
        list(steps)
    assert all(torch.isfinite(part).all() for part in learner.parameters())
