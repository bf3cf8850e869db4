"""What an experiment is: what was asked for comes in, one row after another is made, and each is kept when it is done.

A folder belongs to one experiment with its settings. Rows that it holds are not made again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unmask.data.store import DESCRIPTION
from unmask.errors import InputError
from unmask.files import sha256, write_text
from unmask.training.same_settings import SETTINGS, check_same

ROWS = "rows.json"
Number = float | int | None


@dataclass(frozen=True)
class Asked:
    """What a user asks for."""

    experiment: str
    folder: Path
    text: tuple[Path, ...] = ()  # to pretrain on: files or folders, or one store
    train: tuple[Path, ...] = ()  # labelled examples to learn from
    dev: tuple[Path, ...] = ()  # to measure on; a part of train if there are none
    task: str = "classify"  # or another kind of task, or a preset
    model: str | None = None  # of an experiment that pretrains nothing
    size: str = "tiny"
    sizes: tuple[str, ...] = ("tiny", "mini")  # where sizes are compared
    budget: float | None = None  # seconds, for all pretrainings together
    steps: int | None = None  # of each pretraining instead
    vocabulary: Path | None = None
    vocabulary_size: int | None = None
    length: int = 128  # pieces a sequence of pretraining
    batch_tokens: int | None = None  # pieces a step of pretraining; if none, as the preset has it
    epochs: float | None = None  # of each fine-tuning; if none, as the recipe has it
    batch_size: int | None = None  # of each fine-tuning
    most: int | None = None  # training examples
    columns: Mapping[str, str] = field(default_factory=dict)  # other names of the labelled files
    similarity: Path | None = None  # lines of two words and how alike people find them
    seed: int = 0
    save_every: float = 60.0  # seconds between checkpoints

    def identity(self) -> dict[str, Any]:
        """All that decides the rows, files by their contents; the folder and how often it saves do not."""
        fields = {name: value for name, value in asdict(self).items() if name not in ("folder", "save_every")}
        for name in ("text", "train", "dev"):
            fields[name] = {path.name: fingerprint(path) for path in getattr(self, name)}
        for name in ("vocabulary", "similarity"):
            path = getattr(self, name)
            fields[name] = None if path is None else fingerprint(path)
        return _as_stored(fields)


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    name: str
    settings: Mapping[str, Any]  # by which it was trained
    figures: Mapping[str, Number]  # by column; none where there is nothing to measure
    seconds: float  # of training
    steps: int
    tokens: int  # pieces read while training

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it: the figures beside the name.

        >>> Row("BERT", {"size": "tiny"}, {"score": 0.5}, 1.0, 2, 3).to_dict()["score"]
        0.5
        """
        cost = {"seconds": round(self.seconds, 3), "steps": self.steps, "tokens": self.tokens}
        return {"name": self.name, "settings": _as_stored(self.settings), **self.figures, **cost}


def _as_stored(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON, which has lists for tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def fingerprint(path: Path) -> str:
    """A name for what a file, a folder's files or a store hold.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> _ = place.write_text("A lamp.")
    >>> fingerprint(place)
    'c68a25922c02'
    """
    _, equals, place = str(path).partition("=")
    path = Path(place) if equals and not path.exists() else path  # PRESET=PATH
    if not path.exists():
        raise InputError(f"no file {path}", wanted="a file or folder that is there", do="check the path")
    if (path / DESCRIPTION).is_file():
        return sha256(path / DESCRIPTION)[:12]
    files = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
    return ",".join(sha256(file)[:12] for file in files)


def begin(asked: Asked) -> None:
    """Makes the folder this experiment's own; one of another experiment, or of other settings, is refused."""
    here, path = asked.identity(), asked.folder / SETTINGS
    if asked.folder.is_file():
        raise InputError(f"-o {asked.folder}, a file", wanted="a folder to write", do="choose another with -o")
    if not path.exists():
        write_text(path, json.dumps(here, indent=2, ensure_ascii=False) + "\n")
        return
    if "experiment" not in json.loads(path.read_text(encoding="utf-8")):
        raise InputError(f"{asked.folder}, the folder of another run", wanted="an experiment's", do="choose another -o")
    check_same(asked.folder, here, what="an experiment")


def finished_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows that a folder has, in the order in which they were made."""
    path = folder / ROWS
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []


def make_rows(
    asked: Asked, columns: Sequence[str], makers: Mapping[str, Callable[[], Row]], note: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Makes the rows that are missing, keeping each as soon as it is there."""
    rows = finished_rows(asked.folder)
    for name, make in makers.items():
        if any(row["name"] == name for row in rows):
            note(f"{name}: done before")
            continue
        note(f"{name}")
        rows.append(make().to_dict())
        stored = {"experiment": asked.experiment, "columns": list(columns), "rows": rows}
        write_text(asked.folder / ROWS, json.dumps(stored, indent=2, ensure_ascii=False) + "\n")
    return rows
