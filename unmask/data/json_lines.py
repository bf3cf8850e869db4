"""JSON lines: a file, compressed or not, in, one object for each line out; a bad line is named by its number."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unmask.data.text_lines import numbered_lines
from unmask.errors import InputError


def read_json_lines(path: Path, *, strict: bool = True) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, each with the number of its line; blank lines are skipped, and `strict` is that of lines.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = file.write_text('{"text": "one"}\\n\\n{"text": "two"}\\n')
    >>> list(read_json_lines(file))
    [(1, {'text': 'one'}), (3, {'text': 'two'})]
    """
    for number, line in numbered_lines(path, strict=strict):
        if line and not line.isspace():
            yield number, _object(line, f"{path} line {number}")


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: {error}", wanted="one JSON object a line") from None
    if not isinstance(row, dict):
        raise InputError(f"{place}: a {type(row).__name__}", wanted="one JSON object a line")
    return row
