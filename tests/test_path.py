"""docs/path.md follows one sentence through the whole package: every value it shows is computed again here."""

import re
from pathlib import Path
from typing import Any

import pytest
from test_documents_run import blocks_of, run_python

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "path.md"


def test_every_value_on_the_page_is_what_the_package_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(blocks_of(PAGE.read_text(encoding="utf-8")))
    names: dict[str, Any] = {}
    for block in blocks:
        run_python(block, names)
    assert sum(block.body.count(">>> ") for block in blocks) > 60


def test_every_file_named_on_the_page_exists() -> None:
    named = re.findall(r"`(unmask/\S+\.py)`", PAGE.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (PROJECT / name).is_file()] == []
