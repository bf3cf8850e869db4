"""JSON lines: objects with their line numbers, and bad lines by name."""

import gzip
from pathlib import Path

import pytest

from unmask.data.json_lines import read_json_lines
from unmask.errors import InputError


def test_compressed_lines_come_with_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress('{"a": "雪"}\n\n{"a": 2}'.encode()))
    assert list(read_json_lines(file)) == [(1, {"a": "雪"}), (3, {"a": 2})]


@pytest.mark.parametrize("line", ["{", "[1]", '"text"', "NaN x"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1}\n' + line)
    with pytest.raises(InputError, match=r"rows.jsonl line 2.*one JSON object a line"):
        list(read_json_lines(file))
