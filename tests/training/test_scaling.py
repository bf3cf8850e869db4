import math

import pytest
import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.model.dropout import Chance
from unmask.training.loop import Part, Step, train
from unmask.training.scaling import LossScale

ROWS = torch.linspace(-4, 4, 24).view(12, 2)


class HalfLine(nn.Module):
    """Learns to sum its inputs, its product in float16."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)
        nn.init.constant_(self.linear.weight, 0.1)
        nn.init.zeros_(self.linear.bias)

    def forward(self, rows: Tensor, _: Chance | None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        with torch.autocast("cpu", torch.float16):
            error = self.linear(rows).squeeze(1) - rows.sum(1)
        return {"line": error.float().square().sum()}, {}


def run(steps: int, scale: LossScale) -> tuple[HalfLine, list[Step]]:
    learner = HalfLine()
    optimiser = torch.optim.AdamW(learner.parameters(), lr=0.0, weight_decay=0.0)
    part = Part(0, ROWS, len(ROWS), {"line": len(ROWS)})
    taken = train(learner, lambda _: [part], optimiser, lambda _: 0.05, steps=range(steps), scale=scale)
    return learner, list(taken)


def by_torch(steps: int) -> tuple[HalfLine, list[float]]:
    """The same with torch's own scaler."""
    learner, scaler, scales = HalfLine(), torch.amp.GradScaler("cpu"), []
    optimiser = torch.optim.AdamW(learner.parameters(), lr=0.05, weight_decay=0.0)
    for _ in range(steps):
        scales.append(scaler.get_scale())
        scaler.scale(learner(ROWS, None)[0]["line"] / len(ROWS)).backward()
        scaler.unscale_(optimiser)
        torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
    return learner, scales


def test_it_takes_the_steps_and_the_skips_of_torchs_scaler() -> None:
    (ours, steps), (theirs, scales) = run(40, LossScale.of(torch.float16)), by_torch(40)
    assert [step.loss_scale for step in steps] == scales
    assert sum(step.skipped for step in steps) == math.log2(steps[0].loss_scale / steps[-1].loss_scale) > 0
    torch.testing.assert_close(ours.linear.weight, theirs.linear.weight)
    assert steps[-1].loss < 0.1 * steps[0].loss


def test_a_skipped_step_leaves_the_weights_and_the_optimiser_alone() -> None:
    learner, (step,) = run(1, LossScale.of(torch.float16))
    assert step.skipped
    assert torch.equal(learner.linear.weight, torch.full((1, 2), 0.1))


def test_good_steps_in_a_row_double_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.training.scaling.PATIENCE", 3)
    scale = LossScale(8.0, moves=True)
    assert [scale.skips(norm) for norm in (1.0, 1.0, math.inf, 1.0, 1.0, 1.0)] == [False, False, True] + 3 * [False]
    assert scale == LossScale(8.0, 0, moves=True)


def test_a_scale_comes_back_from_its_tensors() -> None:
    kept, found = LossScale(1024.0, 17, moves=True), LossScale.of(torch.float16)
    found.restore(kept.tensors())
    assert found == kept
    assert LossScale().tensors() == {}


def test_an_overflow_that_no_scale_explains_stops_the_training() -> None:
    learner = HalfLine()
    part = Part(0, ROWS * 1e5, len(ROWS), {"line": len(ROWS)})  # beyond float16 before any scale
    optimiser = torch.optim.AdamW(learner.parameters(), lr=0.0)
    with pytest.raises(InputError, match="at step 1"):
        list(train(learner, lambda _: [part], optimiser, lambda _: 0.1, steps=range(3), scale=LossScale(moves=True)))
