"""One fine-tuning with several seeds: a request in, mean and deviation of its scores out, and the best of the models.

On small data one run says little: heads, order and dropout differ from seed to seed, and so does the score. Every run
has a folder, `run-SEED`, so that what was interrupted goes on and what is finished is not done again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import InputError
from unmask.files import write_text
from unmask.model.folder import open_model, save_model
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request, shared_features
from unmask.tasks.searching import adopt

RUNS = "runs.json"


@dataclass(frozen=True)
class RunsOutcome:
    """What came of several runs: `score` is their mean; the model in `folder` is that of the best."""

    folder: str
    task: str
    metric: str
    score: float
    deviation: float  # of the runs' scores from their mean, as of a sample; 0 of a single run
    scores: Mapping[str, float]  # the metric of each run, by its seed
    best: str  # the folder of the best run
    seconds: float
    examples_per_second: float

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return asdict(self)


def several_runs(
    request: Request,
    seeds: Sequence[int],
    *,
    train: Callable[[FineTuningRun], Outcome] = FineTuningRun.train,
    note: Callable[[str], None] = lambda _: None,
) -> RunsOutcome:
    """Takes all runs that are not finished yet, and leaves the best one's model in the request's folder."""
    if not seeds:
        raise InputError("no runs", wanted="at least one")
    outcomes: dict[int, Outcome] = {}
    with shared_features(request) as sharing:
        for seed in seeds:
            own = replace(sharing, folder=request.folder / f"run-{seed}", changes={**request.changes, "seed": seed})
            outcomes[seed] = outcome = train(FineTuningRun(own, note))
            note(f"seed {seed}: {outcome.metric} {outcome.score:.4f}")
    found = summed_up(request.folder, outcomes)
    adopt(Path(found.best), request.folder)
    _tell_of_runs(request.folder, found)
    return found


def summed_up(folder: Path, outcomes: Mapping[int, Outcome]) -> RunsOutcome:
    """Mean and deviation, and the best of them; of equals the first."""
    best = max(outcomes.values(), key=lambda outcome: outcome.score)
    scores = {str(seed): outcome.score for seed, outcome in outcomes.items()}
    seconds = sum(outcome.seconds for outcome in outcomes.values())
    seen = sum(outcome.examples_per_second * outcome.seconds for outcome in outcomes.values())
    return RunsOutcome(
        folder=str(folder),
        task=best.task,
        metric=best.metric,
        score=float(np.mean([*scores.values()])),
        deviation=float(np.std([*scores.values()], ddof=1)) if len(scores) > 1 else 0.0,
        scores=scores,
        best=best.folder,
        seconds=round(seconds, 3),
        examples_per_second=round(seen / max(seconds, 1e-9), 1),
    )


def _tell_of_runs(folder: Path, found: RunsOutcome) -> None:
    """Says in the model's own folder that it is the best of several, whose mean is the more honest figure."""
    opened = open_model(folder)
    runs = {"mean": found.score, "deviation": found.deviation, "scores": dict(found.scores)}
    about = replace(opened.about, provenance={**opened.about.provenance, "best_of_runs": runs})
    save_model(
        folder, opened.config, opened.model, opened.tokenizer, about, base=opened.base.model if opened.base else None
    )
    write_text(folder / RUNS, json.dumps(found.to_dict(), indent=2) + "\n")
