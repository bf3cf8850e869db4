"""The folder of an application: `unmask.json` says which, of what encoder; other files beside it hold the rest.

Fields and files come in and change the folder as a whole: a crash in the middle leaves the old one or the new one.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from unmask.errors import InputError
from unmask.model.about import read_object
from unmask.model.named import NAMED
from unmask.model.whole_folder import finish, is_unfinished, whole_folder

VERSION = 1  # raised when a reader of an older version would misread the folder
ABOUT = "unmask.json"
ATTEMPTS = 20  # to read a folder that others keep writing

T = TypeVar("T")


def read_app(folder: Path | str, kind: str | None = None) -> dict[str, Any] | None:
    """The fields of an application's folder, of the kind that is wanted if one is; none if it is something else.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "my-faq"
    >>> with write_app(place, "faq", {"encoder": "default", "encoder_identity": "6b1f"}) as temporary:
    ...     _ = (temporary / "entries.jsonl").write_text("{}")
    >>> read_app(place, "faq")["encoder"], read_app(place.parent)
    ('default', None)
    """
    folder = Path(folder)
    finish(folder)
    fields = read_object(folder / ABOUT) if (folder / ABOUT).is_file() else {}
    if "app" not in fields:
        return None
    if kind is not None and fields["app"] != kind:
        raise InputError(f"{folder}, a folder of the application {fields['app']!r}", wanted=f"one of {kind!r}")
    if fields.get("version") != VERSION:
        raise InputError(
            f"{folder} of version {fields.get('version')}", wanted=f"version {VERSION}", do="update unmask"
        )
    return fields


@contextmanager
def write_app(folder: Path, kind: str, fields: Mapping[str, Any]) -> Iterator[Path]:
    """Yields a temporary folder for the files; on success they and the fields are the application's, else nothing is.

    It may be new, empty, or an application of the same kind; nothing else is written over.
    """
    if read_app(folder, kind) is None and folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}, which holds other things", wanted=f"a new folder, or one of {kind!r}")
    with whole_folder(folder) as temporary:
        yield temporary
        told = {"app": kind, "version": VERSION, **fields}
        (temporary / ABOUT).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_whole(folder: Path, kind: str, read: Callable[[dict[str, Any]], T]) -> T:
    """What a function makes of the folder's fields and files, all of one version, even while another process writes.

    >>> read_whole(Path("nowhere"), "faq", dict)
    Traceback (most recent call last):
    unmask.errors.InputError: got nowhere; wanted a folder of the application 'faq'
    """
    for _ in range(ATTEMPTS):
        finish(folder)
        version = _version(folder)
        fields = read_app(folder, kind)
        if fields is None:
            raise InputError(str(folder), wanted=f"a folder of the application {kind!r}")
        try:
            made = read(fields)
        except (InputError, OSError, ValueError):
            if version is not None and version == _version(folder):
                raise
        else:
            if version is not None and version == _version(folder):
                return made
    raise InputError(f"{folder}, which changes faster than it can be read", do="wait until nobody writes it")


def same_encoder(folder: Path, fields: Mapping[str, Any], identity: str, *, do: str) -> None:
    """Refuses an encoder that is not the one which made the folder's vectors.

    >>> same_encoder(Path("my-faq"), {"encoder": "default", "encoder_identity": "6b1f"}, "6b1f", do="build it again")
    """
    if fields.get("encoder_identity") != identity:
        raise InputError(
            f"{folder}, whose vectors are of another version of the encoder {fields.get('encoder')!r}",
            wanted="the encoder that made them",
            do=do,
        )


def lasting_name(name: str) -> str:
    """A model's name or path as it is understood from any working directory.

    >>> lasting_name("minilm"), lasting_name("my-reader") == str(Path("my-reader").resolve())
    ('minilm', True)
    """
    return name if name in NAMED or name.startswith("hf:") else str(Path(name).resolve())


def _version(folder: Path) -> tuple[int, int] | None:
    """What tells one version of the folder from the next; None while new files move in, or if there is no folder."""
    try:
        about = (folder / ABOUT).stat()
    except FileNotFoundError:
        return None
    return None if is_unfinished(folder) else (about.st_ino, about.st_mtime_ns)
