"""The figures in both READMEs are those of the records."""

from pathlib import Path
from types import ModuleType

import pytest
from scripts import load_script

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return load_script("benchmarks/tables.py")


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_figures_are_those_of_the_records(tables: ModuleType, readme: str) -> None:
    page = (PROJECT / readme).read_text(encoding="utf-8")
    assert tables.BLOCK.search(page)
    assert tables.filled(page, readme) == page, "run: python benchmarks/tables.py"


def test_every_record_has_a_page_and_a_result() -> None:
    for record in (PROJECT / "benchmarks" / "records").iterdir():
        assert (record / "README.md").is_file(), record
        assert (record / "result.json").is_file(), record
