"""The one training loop: a generator of steps. Pretraining, fine-tuning and distillation are tasks that it is given.

A step is a pure function of the weights, the optimiser's state, the seed and the step's number.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from unmask.errors import InputError
from unmask.model.dropout import Chance
from unmask.training.scaling import LossScale


@dataclass(frozen=True)
class Part:
    """A micro-batch: what the learner takes in at once."""

    number: int  # its place in the step's whole batch, the same for any number of machines
    batch: Any  # what the task's losses are computed from
    tokens: int  # pieces in it
    counts: Mapping[str, float]  # how many labels each loss has here


@dataclass(frozen=True)
class Step:
    """What one step of training did."""

    number: int  # counted from 1
    tokens: int  # pieces seen in this step, on all machines
    loss: float  # the sum of the losses, each averaged over its labels
    losses: Mapping[str, float]  # each loss, averaged over its labels
    figures: Mapping[str, float]  # the task's figures, averaged over the labels they count
    learning_rate: float
    gradient_norm: float  # before clipping; 0 where the step was skipped
    skipped: bool = False  # float16 gradients overflowed: the weights stayed as they were
    loss_scale: float = 1.0  # what float16 losses were multiplied by


def train(
    learner: nn.Module,
    parts_of: Callable[[int], Sequence[Part]],
    optimiser: Optimizer,
    learning_rate: Callable[[int], float],
    *,
    steps: Iterable[int],
    seed: int = 0,
    clip: float = 1.0,
    dropout: bool = True,
    gather: Callable[[dict[str, float]], dict[str, float]] = dict,
    world: int = 1,
    precision: torch.dtype = torch.float32,
    scale: LossScale | None = None,
) -> Iterator[Step]:
    """Takes the steps and yields what each did.

    `learner(batch, chance)` gives each loss summed over its labels, and figures to sum up (such as how many were
    right). `parts_of(step)` gives the micro-batches of a step that fall to this process. `gather` sums figures over
    all processes. Products are computed in `precision`; `scale` is for float16.
    """
    scale = scale or LossScale()
    device = next(learner.parameters()).device.type
    learner.train()
    for number in steps:
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(number) * group.get("lr_scale", 1.0)
        parts = parts_of(number)
        counts = gather(_summed([{**part.counts, "tokens": part.tokens} for part in parts]))
        totals = []
        for part in parts:
            with _gradients_meet(learner, part is parts[-1]):
                with torch.autocast(device, precision, enabled=precision != torch.float32):
                    losses, figures = learner(part.batch, Chance(seed, number, part.number) if dropout else None)
                # this process's share of the whole batch's mean; engines average over processes, `world` undoes that
                share = sum(loss * (world / counts[name]) for name, loss in losses.items())
                (share * scale.factor).backward()
            totals.append({name: float(value.detach()) for name, value in {**losses, **figures}.items()})
        scale.undo(learner.parameters())
        norm = float(clip_gradients(learner, clip))
        rate, factor, skipped = optimiser.param_groups[0]["lr"], scale.factor, scale.skips(norm)
        step = _step(number, gather(_summed(totals)), counts, rate, 0.0 if skipped else norm)
        step = replace(step, skipped=skipped, loss_scale=factor)
        _check(step)
        if not skipped:
            optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        yield step


def clip_gradients(learner: nn.Module, limit: float) -> Tensor:
    """Scales all gradients down to a common norm of at most `limit` (0: no limit); gives the norm before."""
    learned = [value for value in learner.parameters() if value.grad is not None]
    norm = torch.nn.utils.get_total_norm([value.grad for value in learned if value.grad is not None])
    norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm  # sharded engines give a norm in pieces
    if limit and norm > limit:  # torch would multiply by one as well
        torch.nn.utils.clip_grads_with_norm_(learned, limit, norm)
    return norm


def _gradients_meet(learner: nn.Module, last: bool) -> AbstractContextManager[None]:
    """Distributed engines exchange gradients once a step: with the last micro-batch."""
    no_sync = getattr(learner, "no_sync", None)
    return nullcontext() if last or no_sync is None else no_sync()


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
