"""One question to be explained: a model folder, an example of its task, and the target that the user named, if any."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.explain.reading import Reading
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.kinds import task_of
from unmask.text.segment import Segmenter

MOST_SHOWN = 20  # names in a message


@dataclass(frozen=True)
class Asked:
    """What is to be explained, as it was asked."""

    opened: ModelFolder
    model: BertWithHead
    example: Any
    target: str | None = None  # none: what the model itself says
    segment: Segmenter | None = None  # joins Chinese characters to words

    @property
    def task(self) -> Any:
        """The task that the folder was fine-tuned for."""
        return task_of(self.opened.about, self.opened.config.positions)

    @property
    def answer(self) -> Any:
        """What the model says of the example."""
        rows: list[Row] = self.task.rows([self.example], self.opened.tokenizer)
        return self.task.answers([self.example], rows, outputs_of(self.model, rows))[0]

    def best(self, reading: Reading) -> int:
        """The number of the highest output, the mean over a long text's windows."""
        rows = [Row(row.ids, row.segments, 0) for row in reading.rows]
        return int(np.mean(outputs_of(self.model, rows), 0).argmax())

    def refuse_target(self, explained: str) -> None:
        """For models that say one thing only."""
        if self.target is not None:
            raise InputError(f"target {self.target!r}", wanted=f"none: this model says {explained}")


def number_of(name: str, names: Sequence[str]) -> int:
    """The place of a name among those that may be asked for.

    >>> number_of("good", ("bad", "good"))
    1
    """
    if name not in names:
        known = ", ".join(names) if len(names) <= MOST_SHOWN else f"one of {len(names):,}, such as {names[-1]!r}"
        raise InputError(f"target {name!r}", wanted=known, do="choose one with --target")
    return names.index(name)
