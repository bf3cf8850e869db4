"""A whole JSON file: a path, compressed or not, comes in; its value goes out, or the line at which it is broken."""

import json
from pathlib import Path
from typing import Any

from unmask.data.text_lines import numbered_lines
from unmask.errors import InputError


def read_json(path: Path) -> Any:
    """What a JSON file holds.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels.json"
    >>> _ = file.write_text('["good", "bad"]')
    >>> read_json(file)
    ['good', 'bad']
    """
    try:
        return json.loads("\n".join(line for _, line in numbered_lines(path)))
    except json.JSONDecodeError as error:
        got = f"{path} line {error.lineno} column {error.colno}: {error.msg}"
        raise InputError(got, wanted="a whole JSON file") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}", wanted="a JSON file that can be read") from None
