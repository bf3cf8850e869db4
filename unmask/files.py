"""Files that are whole or not there: a writer works on a temporary file, which is renamed when it is complete."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on success it is synced and takes the name, on failure it is removed.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("hello")
    >>> target.read_text()
    'hello'
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a whole UTF-8 text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Asks the operating system to put a file's (or folder's) bytes on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
