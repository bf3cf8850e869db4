"""All of GLUE: a folder of its sets in, a model fine-tuned on each and the table beside the paper's out."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from unmask.errors import InputError
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request
from unmask.tasks.preset_files import find_files
from unmask.tasks.presets import GLUE, PRESETS


@dataclass(frozen=True)
class GlueRow:
    """One set of GLUE: our score on its dev examples, the paper's on its test examples, both in per cent."""

    name: str
    metric: str
    score: float
    paper: float | None
    examples: int  # learned from
    seconds: float


@dataclass(frozen=True)
class GlueTable:
    """What came of all sets."""

    rows: tuple[GlueRow, ...]
    left_out: tuple[str, ...]  # sets that the folder has no training examples of

    @property
    def average(self) -> float:
        """The mean score over the sets, in per cent."""
        return sum(row.score for row in self.rows) / len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON has it."""
        rows = [asdict(row) for row in self.rows]
        return {"rows": rows, "average": self.average, "left_out": list(self.left_out)}

    def to_words(self) -> str:
        """The table for people.

        >>> print(GlueTable((GlueRow("rte", "accuracy", 60.0, 66.4, 2490, 9.0),), ("mnli",)).to_words())
        set    metric    ours, dev  paper, test  examples  seconds
        rte    accuracy       60.0         66.4     2,490        9
        average               60.0
        no training examples here: mnli
        """
        lines = ["set    metric    ours, dev  paper, test  examples  seconds"]
        for row in self.rows:
            paper = "" if row.paper is None else f"{row.paper:.1f}"
            numbers = f"{row.score:>9.1f}{paper:>13}{row.examples:>10,}{row.seconds:>9.0f}"
            lines.append(f"{row.name:<7}{row.metric:<10}{numbers}")
        lines.append(f"{'average':<17}{self.average:>9.1f}")
        return "\n".join(lines + ([f"no training examples here: {', '.join(self.left_out)}"] if self.left_out else []))


def run_glue(request: Request, note: Callable[[str], None] = lambda _: None, sets: Sequence[str] = GLUE) -> GlueTable:
    """Fine-tunes on every set that the folder to learn from has, each in its own folder; finished ones are kept."""
    rows, left_out = [], []
    home = request.train_paths[0]
    for name in sets:
        folder = home / PRESETS[name].folder
        if not folder.is_dir() or "train" not in find_files(PRESETS[name], folder):
            left_out.append(name)
            continue
        note(f"{name}: {folder}")
        outcome = FineTuningRun(replace(request, task=name, train=folder, folder=request.folder / name), note).train()
        rows.append(_row(name, outcome))
    if not rows:
        raise InputError(f"{home} without a set of GLUE", wanted=", ".join(PRESETS[n].folder for n in sets))
    return GlueTable(tuple(rows), tuple(left_out))


def _row(name: str, outcome: Outcome) -> GlueRow:
    paper = PRESETS[name].published.get("test")
    return GlueRow(name, outcome.metric, 100 * outcome.score, paper, outcome.examples, outcome.seconds)
