"""Fine-tuning or features (the paper's table 7): a model that learns the task, beside readers of what it says already.

Nothing is pretrained. A BiLSTM reads the embeddings, one layer, four side by side, or a learned mean of layers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from unmask.lab.experiment import Row
from unmask.lab.workbench import Workbench

COLUMNS = ("score",)
MODEL = "default"  # where none is named
READ = {
    "embeddings": "embeddings",
    "second-to-last layer": "second-to-last",
    "last layer": "last",
    "weighted sum of the last four": "weighted-last-4",
    "the last four side by side": "concat-last-4",
    "weighted sum of all layers": "weighted-all",
}


def rows(bench: Workbench) -> dict[str, Callable[[], Row]]:
    """How each row is made."""
    read = {name: partial(_row, bench, name, features=layers, reader="bilstm") for name, layers in READ.items()}
    return {"fine-tuning": partial(_row, bench, "fine-tuning"), **read}


def _row(bench: Workbench, name: str, **changes: Any) -> Row:
    tuned = bench.tune(changes.get("features", name), bench.asked.model or MODEL, **changes)
    assert tuned is not None, "an experiment that was begun without a task"
    settings = {"model": bench.asked.model or MODEL, **changes, **tuned.settings}
    return Row(name, settings, {"score": tuned.score}, tuned.seconds, tuned.steps, tuned.tokens)
