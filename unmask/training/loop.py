"""The one training loop: a generator of steps. Pretraining, fine-tuning and distillation are tasks that it is given.

A step is a pure function of the weights, the optimiser's state, the seed and the step's number.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from unmask.errors import InputError
from unmask.model.dropout import Chance


@dataclass(frozen=True)
class Part:
    """A micro-batch: what the model takes in at once."""

    number: int  # its place in the step's whole batch, the same for any number of machines
    batch: Any  # what the task's losses are computed from
    tokens: int  # pieces in it
    counts: Mapping[str, float]  # how many labels each loss has here


class Task(Protocol):
    """What the loop asks of a task."""

    def parts(self, step: int) -> Sequence[Part]:
        """The micro-batches of a step that fall to this process; a pure function of the step."""

    def losses(self, model: nn.Module, batch: Any, chance: Chance | None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Each loss summed over its labels, and figures to sum up (such as how many were right)."""


@dataclass(frozen=True)
class Step:
    """What one step of training did."""

    number: int  # counted from 1
    tokens: int  # pieces seen in this step, on all machines
    loss: float  # the sum of the losses, each averaged over its labels
    losses: Mapping[str, float]  # each loss, averaged over its labels
    figures: Mapping[str, float]  # the task's figures, averaged over the labels they count
    learning_rate: float
    gradient_norm: float  # before clipping


def train(
    model: nn.Module,
    task: Task,
    optimiser: Optimizer,
    learning_rate: Callable[[int], float],
    *,
    first: int = 0,
    last: int,
    seed: int = 0,
    clip: float = 1.0,
    dropout: bool = True,
    gather: Callable[[dict[str, float]], dict[str, float]] = dict,
    world: int = 1,
) -> Iterator[Step]:
    """Takes the steps first … last - 1 and yields what each did. `gather` sums figures over all processes."""
    model.train()
    for number in range(first, last):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(number) * group.get("lr_scale", 1.0)
        parts = task.parts(number)
        counts = gather(_summed([{**part.counts, "tokens": part.tokens} for part in parts]))
        totals = []
        for part in parts:
            chance = Chance(seed, number, part.number) if dropout else None
            losses, figures = task.losses(model, part.batch, chance)
            # every process adds its own share of the whole batch's mean; the mean over processes is undone by `world`
            share = sum(loss * (world / counts[name]) for name, loss in losses.items())
            assert isinstance(share, Tensor)
            share.backward()  # type: ignore[no-untyped-call]
            totals.append({name: float(value.detach()) for name, value in {**losses, **figures}.items()})
        norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf))
        step = _step(number, gather(_summed(totals)), counts, optimiser.param_groups[0]["lr"], norm)
        _check(step)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        yield step


def _summed(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(part[name] for part in parts) for name in parts[0]}


def _step(number: int, totals: dict[str, float], counts: dict[str, float], rate: float, norm: float) -> Step:
    """A figure named `x_right` counts over the labels of the loss `x`."""
    losses = {name: totals[name] / counts[name] for name in totals if name in counts}
    figures = {name: totals[name] / counts[name.rsplit("_", 1)[0]] for name in totals if name not in counts}
    return Step(number + 1, int(counts["tokens"]), sum(losses.values()), losses, figures, rate, norm)


def _check(step: Step) -> None:
    if not (math.isfinite(step.loss) and math.isfinite(step.gradient_norm)):
        raise InputError(
            f"a loss of {step.loss} with gradient norm {step.gradient_norm} at step {step.number}",
            wanted="finite numbers",
            do="the last good checkpoint is kept: lower --lr, lengthen --warmup or lower --clip, and run again",
        )
