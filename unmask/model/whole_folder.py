"""Folders that change as a whole: new files are gathered beside the folder and take their places when all are there.

Until the gathered folder is renamed to its `.ready` name, the old files stand untouched. From that moment the new ones
count: should the machine stop while they move in, whoever opens the folder next moves the rest.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unmask.errors import InputError
from unmask.files import sync


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder; on success its files are those of `folder`, on failure nothing has happened.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "model"
    >>> with whole_folder(place) as temporary:
    ...     _ = (temporary / "config.json").write_text("{}")
    >>> [path.name for path in place.iterdir()]
    ['config.json']
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}, which is a file", wanted="a folder to write, new or existing")
    finish(folder)
    temporary = _beside(folder, "part")
    shutil.rmtree(temporary, ignore_errors=True)  # of a save that was killed
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{folder}, where nothing can be written ({error.strerror})") from error
    try:
        yield temporary
        for path in temporary.rglob("*"):
            sync(path)
        os.rename(temporary, _beside(folder, "ready"))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    finish(folder)


def finish(folder: Path) -> None:
    """Moves in what a save that was stopped at its very end has left; usually there is nothing to do."""
    ready = _beside(folder, "ready")
    if not ready.is_dir():
        return
    if not folder.exists():
        with suppress(FileNotFoundError):  # another process was here first
            os.rename(ready, folder)
        sync(ready.parent)
        return
    inside = [(Path(parent), names) for parent, _, names in os.walk(ready)]
    for path in sorted(parent / name for parent, names in inside for name in names):
        target = folder / path.relative_to(ready)
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            os.replace(path, target)
    sync(folder)
    for parent, _ in reversed(inside):
        with suppress(OSError):  # only what is empty: the next save may already stand there
            parent.rmdir()


def is_unfinished(folder: Path) -> bool:
    """Whether new files are complete and wait to move in, or are about to."""
    return _beside(folder, "ready").exists()


def _beside(folder: Path, ending: str) -> Path:
    absolute = folder.absolute()
    return absolute.with_name(f".{absolute.name}.{ending}")
