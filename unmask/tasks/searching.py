"""The best of several settings under a time budget: a request in, the model with the best dev score out.

The grid is the paper's (appendix A.3): learning rates and epochs; where the encoder does not learn, those that fit a
head alone. Every trial has a folder, so that a search goes on where it was interrupted; a trial that would not end
within the budget is not begun.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from unmask.files import write_text
from unmask.model.folder import open_model
from unmask.tasks.asked import asked
from unmask.tasks.finetuning import fitting_rate
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request, shared_features

EPOCHS = (3.0, 2.0, 4.0)
LEARNING_RATES = (5e-5, 3e-5, 2e-5, 4e-5)
Choice = tuple[float, float]  # learning rate and epochs
HEAD_EPOCHS = (10.0, 5.0, 20.0)  # of features that are computed once
HEAD_LEARNING_RATES = (1e-3, 3e-3, 3e-4, 1e-2, 1e-4)  # a fresh head learns nothing at the rates of an encoder


@dataclass(frozen=True)
class Trial:
    """One choice of settings and what came of it."""

    learning_rate: float
    epochs: float
    score: float
    seconds: float


@dataclass(frozen=True)
class Searched:
    """All trials, and the outcome of the best."""

    trials: tuple[Trial, ...]
    left_out: int  # choices for which there was no time
    best: Outcome

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        trials = [asdict(trial) for trial in self.trials]
        return self.best.to_dict() | {"trials": trials, "left_out": self.left_out}


def search(request: Request, budget: float, note: Callable[[str], None] = lambda _: None) -> Searched:
    """Tries settings until the budget (in seconds) is used up and keeps the best model in the request's folder."""
    choices = choices_for(request)
    with shared_features(request) as sharing:
        outcomes = _tried(sharing, choices, budget, note)
    trials = tuple(Trial(rate, epochs, one.score, one.seconds) for (rate, epochs), one in outcomes.items())
    best = max(outcomes.values(), key=lambda outcome: outcome.score)
    adopt(Path(best.folder), request.folder)
    found = Searched(trials, len(choices) - len(trials), replace(best, folder=str(request.folder)))
    write_text(request.folder / "search.json", json.dumps(found.to_dict(), indent=2) + "\n")
    return found


def _tried(
    request: Request, choices: Sequence[Choice], budget: float, note: Callable[[str], None]
) -> dict[Choice, Outcome]:
    """The outcome of every choice that there was time for."""
    started = time.monotonic()
    outcomes: dict[Choice, Outcome] = {}
    for rate, epochs in choices:
        left = budget - (time.monotonic() - started)
        if outcomes and expected_seconds(outcomes, epochs) > left:
            continue
        folder = request.folder / "trials" / f"{rate:g}-{epochs:g}"
        tried = replace(request, folder=folder, changes={**request.changes, "learning_rate": rate, "epochs": epochs})
        outcomes[rate, epochs] = outcome = FineTuningRun(tried, note).train()
        note(f"learning rate {rate:g}, {epochs:g} epochs: {outcome.metric} {outcome.score:.4f}")
    return outcomes


def choices_for(request: Request) -> list[Choice]:
    """The learning rates and epochs to try: by what learns, by the preset's recipe and the model's width.

    >>> frozen = Request("sst2", "default", Path("SST-2"), Path("model"), changes={"features": "last"})
    >>> choices_for(frozen)[0], len(choices_for(frozen))
    ((0.001, 10.0), 15)
    """
    if request.changes.get("features"):
        return grid(HEAD_LEARNING_RATES, HEAD_EPOCHS)
    if request.changes.get("freeze") == "all":
        return grid(HEAD_LEARNING_RATES, EPOCHS)
    preset, width = asked(request.task).preset, open_model(request.model).config.width
    published = preset.recipe.learning_rates if preset else LEARNING_RATES
    return grid([fitting_rate(rate, width) for rate in published], EPOCHS)


def grid(learning_rates: Sequence[float], epochs: Sequence[float]) -> list[Choice]:
    """The choices, those first that teach most: every learning rate once, then other epochs.

    >>> grid((5e-5, 3e-5), (3.0, 2.0))[:3]
    [(5e-05, 3.0), (3e-05, 3.0), (5e-05, 2.0)]
    """
    return [(rate, number) for number in epochs for rate in learning_rates]


def expected_seconds(outcomes: Mapping[Choice, Outcome], epochs: float) -> float:
    """How long a trial will take, by the slowest so far."""
    return max(outcome.seconds / own for (_, own), outcome in outcomes.items()) * epochs


def adopt(found: Path, folder: Path) -> None:
    """Makes the model of one folder that of another."""
    shutil.copytree(found, folder, dirs_exist_ok=True)
