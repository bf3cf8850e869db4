"""A training that is no BERT's, through the one loop: a learner and its batches in, steps taken within a time out.

As in pretraining, the number of steps is measured at the start and set right on the way; a later sitting resumes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from unmask.lab.workbench import Show, tokens_read
from unmask.tasks.pretraining import (
    Pretraining,
    PretrainingSettings,
    Source,
    begin,
    seconds_a_step,
    steps_in,
)
from unmask.training.loop import Part
from unmask.training.same_settings import check_same_settings

MEASURED = 1.0  # seconds for which steps are tried out


@dataclass(frozen=True)
class Training:
    """What is trained, on what, by which settings."""

    folder: Path
    make: Callable[[], nn.Module]  # a fresh learner
    batches: Source
    questions: list[Part]  # that held-out figures are taken on
    settings: PretrainingSettings
    save_every: float = 60.0

    def made(self, settings: PretrainingSettings) -> Pretraining:
        """The training before its first step."""
        parts = self.folder, self.make(), self.batches, self.questions, settings
        return Pretraining(*parts, save_every=self.save_every)


@dataclass(frozen=True)
class Ended:
    """A training at its end."""

    learner: nn.Module
    loss: float  # held out, if there was text for it, else of the last step
    seconds: float
    steps: int
    tokens: int


def train_in_time(
    training: Training, title: str, budget: float | None, show: Show, stop: Callable[[], bool] = lambda: False
) -> Ended:
    """Takes as many steps as fit into the budget; without one, as many as the settings say."""
    started = time.monotonic()
    settings = _paced(training, budget)
    check_same_settings(training.folder, settings)
    run = training.made(settings)
    begin(training.folder, settings)
    run.resume()
    deadline = None if budget is None else budget - (time.monotonic() - started if run.run.step == 0 else 0.0)
    with show(title) as told:
        for at in run.steps(deadline=deadline, stop=stop):
            told(at.step.number, at.pace.steps, {"loss": f"{at.step.loss:.3f}"})
    tokens = tokens_read(training.folder)
    return Ended(run.learner.eval(), _last_loss(run), run.run.spent, run.run.step, tokens)


def _paced(training: Training, budget: float | None) -> PretrainingSettings:
    """With a budget, the steps that fit into it; a training begun earlier keeps its number."""
    saved = training.folder / "settings.json"
    if budget is None:
        return training.settings
    if saved.exists():
        steps = PretrainingSettings.from_json(saved.read_text(encoding="utf-8")).steps
    else:
        each = seconds_a_step(training.made(training.settings), at_least=MEASURED)
        steps = steps_in(budget - MEASURED, each)
    return replace(training.settings, steps=steps)


def _last_loss(run: Pretraining) -> float:
    events = list(run.run.journal.events())
    held_out = [event["held_out"] for event in events if "held_out" in event]
    found = held_out[-1] if held_out else events[-1]
    return float(next(value for name, value in found.items() if name.endswith("_loss")))
