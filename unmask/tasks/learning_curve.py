"""How a score grows with the number of examples: a request in, a score for each share of its training examples out."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from unmask.files import write_text
from unmask.tasks.finetuning_run import FineTuningRun, Request

SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class Point:
    """A score that was reached with so many examples."""

    examples: int
    score: float


@dataclass(frozen=True)
class LearningCurve:
    """Scores by the number of examples; the model of all examples is in the folder."""

    folder: str
    metric: str
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON has it."""
        return {"folder": self.folder, "metric": self.metric, "points": [asdict(point) for point in self.points]}


def learning_curve(request: Request, note: Callable[[str], None] = lambda _: None) -> LearningCurve:
    """Fine-tunes on growing shares of the training examples, the same ones again in every larger share."""
    points, metric = [], ""
    for share in SHARES:
        folder = request.folder if share == 1.0 else request.folder / "shares" / f"{share:g}"
        outcome = FineTuningRun(replace(request, folder=folder, share=share), note).train()
        metric = outcome.metric
        points.append(Point(outcome.examples, outcome.score))
        note(f"{outcome.examples:,} examples: {metric} {outcome.score:.4f}")
    found = LearningCurve(str(request.folder), metric, tuple(points))
    write_text(request.folder / "learning_curve.json", json.dumps(found.to_dict(), indent=2) + "\n")
    draw(found, request.folder / "learning_curve.png")
    return found


def draw(found: LearningCurve, path: Path) -> None:
    """The curve as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([point.examples for point in found.points], [point.score for point in found.points], marker="o")
    axes.set_xscale("log")
    axes.set_xlabel("training examples")
    axes.set_ylabel(found.metric)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
