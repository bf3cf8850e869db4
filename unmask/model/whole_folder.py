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
        os.rename(ready, folder)
        sync(ready.parent)
        return
    for path in sorted(path for path in ready.rglob("*") if path.is_file()):
        target = folder / path.relative_to(ready)
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # another process was here first
            os.replace(path, target)
    sync(folder)
    shutil.rmtree(ready, ignore_errors=True)


def _beside(folder: Path, ending: str) -> Path:
    absolute = folder.absolute()
    return absolute.with_name(f".{absolute.name}.{ending}")
