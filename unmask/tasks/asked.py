"""What a user's word for a task means: a kind of task, or a preset that also knows files, labels, metric and recipe."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.data.examples import Reading
from unmask.errors import InputError
from unmask.tasks.kinds import KINDS, Kind
from unmask.tasks.preset import Preset
from unmask.tasks.preset_files import find_files, read_files
from unmask.tasks.presets import PRESETS

OFFICIAL_ANSWERS = {"squad1": "squad1", "squad2": "squad2", "cmrc2018": "cmrc"}  # how answers of a set are scored
STAND_INS = {"dev": "trial"}  # what a set is measured on where it lacks a part: CMRC 2018's dev set is not always there


@dataclass(frozen=True)
class Asked:
    """A task by its name."""

    name: str
    kind: Kind
    preset: Preset | None = None
    multi_label: bool = False  # a text has any number of classes, as a list or separated by |

    @property
    def options(self) -> dict[str, Any]:
        """What the preset says of the task itself."""
        preset = self.preset
        if preset is None:
            return {}
        if preset.task == "tag":
            return {"longest": preset.recipe.length}
        scored: Any = OFFICIAL_ANSWERS.get(self.name, "") if preset.task == "answer" else preset.metrics
        labels = {"labels": preset.labels} if preset.task == "classify" and preset.labels else {}
        return {"longest": preset.recipe.length, "metrics": scored, **labels}

    @property
    def changes(self) -> dict[str, Any]:
        """What the preset's recipe says of the training; its first learning rate where it leaves a choice."""
        if self.preset is None:
            return {}
        recipe = self.preset.recipe
        return {
            "epochs": float(recipe.epochs),
            "batch_size": recipe.batch_size,
            "learning_rate": recipe.learning_rates[0],
        }

    def read(
        self, path: Path, part: str, *, columns: Mapping[str, str] | None = None, labelled: bool = True
    ) -> Reading | None:
        """The examples of a file; of a preset's folder those of one part (train, dev, test), none if it lacks it."""
        # what is measured on is never left out: an answer that its text does not have counts as wrong
        further: dict[str, Any] = {}
        if self.kind.task.kind == "answer" and part != "train":
            further["keep_unfound"] = True
        if self.multi_label:
            further["labels"] = "several"
        if self.preset is None:
            return self.kind.read(path, columns=columns, labelled=labelled, **further)
        if columns:
            raise InputError("--columns with a preset, which knows its columns", do=f"use {self.preset.task} instead")
        if not path.is_dir():
            return self.preset.read(path, labelled=labelled, **further)
        paths = self.files(path, part)
        return read_files(self.preset, paths, labelled=labelled, **further) if paths else None

    def files(self, folder: Path, part: str) -> tuple[Path, ...]:
        """The files of a part that a folder of the preset's set has; none if it lacks it."""
        found = find_files(self.preset, folder) if self.preset is not None else {}
        return found.get(part) or found.get(STAND_INS.get(part, ""), ())


def asked(name: str) -> Asked:
    """The task of a name.

    >>> asked("classify").preset, asked("mrpc").changes["batch_size"]
    (None, 32)
    """
    if name in PRESETS:
        return Asked(name, KINDS[PRESETS[name].task], PRESETS[name])
    if name in KINDS:
        return Asked(name, KINDS[name])
    raise InputError(f"task {name!r}", wanted=f"{', '.join(KINDS)}, or a preset: {', '.join(PRESETS)}")
