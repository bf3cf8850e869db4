"""The files of a public data set: a preset and a folder come in, the files of each part, and what they hold, go out."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from unmask.data.examples import Reading
from unmask.errors import InputError
from unmask.tasks.preset import Preset
from unmask.text.streams import COMPRESSED

SUBSETS = (".part", ".first-half", ".second-half")  # marks that subsets of a set have in their names


def find_files(preset: Preset, folder: Path) -> dict[str, tuple[Path, ...]]:
    """The files of each part that a folder, or the set's own folder in it, has under the official names.

    Compressed files and subsets (`train.part.tsv.gz`) are found as well; a whole file goes before a subset.
    """
    if not folder.is_dir():
        raise InputError(f"no folder {folder}", wanted=f"a folder with the files of {preset.folder}")
    for place in (folder, folder / preset.folder):
        present = sorted(path for path in place.iterdir() if path.is_file()) if place.is_dir() else []
        found = {part: _matching(patterns, present) for part, patterns in preset.files.items()}
        if any(found.values()):
            return {part: paths for part, paths in found.items() if paths}
    wanted = ", ".join(patterns[0] for patterns in preset.files.values())
    do = "rename the files, or name each with --train and --dev"
    raise InputError(f"{folder} without a file of {preset.folder}", wanted=f"{wanted} (or .gz)", do=do)


def official_name(path: Path) -> str:
    """The name that a file would have if it were whole and not compressed.

    >>> official_name(Path("glue/QQP/train.part.tsv.gz")), official_name(Path("eng.testb.first-half"))
    ('train.tsv', 'eng.testb')
    """
    name = path.stem if path.suffix in COMPRESSED else path.name
    for mark in SUBSETS:
        name = name.replace(mark, "")
    return name


def part_of(preset: Preset, path: Path) -> str | None:
    """The part that a file of this name is; none if its name is not an official one.

    >>> from unmask.tasks.presets import PRESETS
    >>> part_of(PRESETS["mnli"], Path("MNLI/test_mismatched.tsv")), part_of(PRESETS["mnli"], Path("mine.tsv"))
    ('test_mismatched', None)
    """
    parts = ((part, pattern) for part, patterns in preset.files.items() for pattern in patterns)
    return next((part for part, pattern in parts if fnmatchcase(official_name(path), pattern)), None)


def read_files(preset: Preset, paths: Iterable[Path], *, labelled: bool = True, **further: Any) -> Reading:
    """The examples of all files of a part, one after the other; `further` is for the preset's reader."""
    readings = [preset.read(path, labelled=labelled, **further) for path in paths]
    return Reading(
        *(tuple(chain.from_iterable(getattr(reading, name) for reading in readings)) for name in READING_FIELDS)
    )


READING_FIELDS = ("examples", "notes", "places")


def _matching(patterns: Iterable[str], present: Iterable[Path]) -> tuple[Path, ...]:
    """All files of the first pattern that any file has."""
    for pattern in patterns:
        found: dict[str, Path] = {}
        for path in sorted(present, key=lambda path: any(mark in path.name for mark in SUBSETS)):
            name = official_name(path)
            if fnmatchcase(name, pattern):
                found.setdefault(name, path)
        if found:
            return tuple(found[name] for name in sorted(found))
    return ()
