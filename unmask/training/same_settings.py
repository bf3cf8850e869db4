"""A training goes on only as it was begun: its folder and its settings in, an error that names what differs out.

Hashes stand for weights, texts and examples among the settings. Nobody can read them, so words say what has changed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SETTINGS = "settings.json"
HASH = re.compile(r"[0-9a-f]{64}")
MEANT = {  # what the hash of a setting stands for
    "data": "other examples, or other options of the task such as --length",
    "model": "other weights to start from",
    "start": "other weights to start from",
    "text": "other text",
    "vocabulary": "another vocabulary",
}


def check_same_settings(folder: Path, settings: "DataclassInstance") -> None:
    """Refuses a folder where a training with other settings was begun; a setting unknown then had its default."""
    defaults = {field.name: field.default for field in fields(settings) if field.default is not MISSING}
    check_same(folder, asdict(settings), what="a run", defaults=defaults)


def check_same(folder: Path, here: Mapping[str, Any], *, what: str, defaults: Mapping[str, Any] | None = None) -> None:
    """Refuses a folder whose settings differ, and names them; a folder without any is free."""
    path = folder / SETTINGS
    if not path.exists():
        return
    before = _plain(defaults or {}) | json.loads(path.read_text(encoding="utf-8"))
    here = _plain(here)
    changed = [difference(name, before.get(name), here[name]) for name in here if before.get(name) != here[name]]
    if changed:
        raise InputError(
            f"{folder}, {what} with other settings: {', '.join(changed)}",
            wanted="the same settings to resume it",
            do="give them again, or choose another folder with -o",
        )


def difference(name: str, before: Any, here: Any) -> str:
    """What has changed of a setting, in words where its values say nothing to a reader.

    >>> difference("epochs", 3.0, 5.0), difference("model", "a" * 64, "b" * 64)
    ('epochs 3.0 there, 5.0 here', 'model (other weights to start from)')
    """
    if name in MEANT and HASH.search(f"{before}") and HASH.search(f"{here}"):
        return f"{name} ({MEANT[name]})"
    return f"{name} {before!r} there, {here!r} here"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as a JSON file gives them back."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(values)))
    return plain
