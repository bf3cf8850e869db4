"""Folders whose files can be checked: `checksums.txt` in the format of sha256sum is written, or held against the files.

It names all files but the card, which is for people, who may add to it.
"""

from pathlib import Path

from unmask.errors import InputError
from unmask.files import sha256, write_text

CHECKSUMS = "checksums.txt"
UNCHECKED = (CHECKSUMS, "README.md")


def write_checksums(folder: Path) -> None:
    """Writes `checksums.txt` for the files of a folder, as `sha256sum -c` reads it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in UNCHECKED)
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    write_text(folder / CHECKSUMS, "".join(lines))


def check_files(folder: Path, *, do: str) -> list[str]:
    """The names of the files that have a checksum, each of which is as it was written; `do` says how to mend it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "vocab.txt").write_text("word")
    >>> write_checksums(folder)
    >>> check_files(folder, do="copy it again")
    ['vocab.txt']
    """
    names = []
    for line in (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines():
        expected, _, name = line.partition("  ")
        check_file(folder / name, expected, do=do)
        names.append(name)
    return names


def check_file(path: Path, expected: str, *, do: str) -> None:
    """Refuses a file that is missing or has another SHA-256."""
    if not path.is_file() or sha256(path) != expected:
        raise InputError(f"{path}, which is damaged or not as published", wanted=f"SHA-256 {expected}", do=do)
