"""The figures in both READMEs are those of the records."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    path = PROJECT / "benchmarks" / "tables.py"
    spec = importlib.util.spec_from_file_location("benchmark_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["benchmark_tables"] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_figures_are_those_of_the_records(tables: ModuleType, readme: str) -> None:
    page = (PROJECT / readme).read_text(encoding="utf-8")
    assert tables.BLOCK.search(page)
    assert tables.filled(page, readme) == page, "run: python benchmarks/tables.py"


def test_every_record_has_a_page_and_a_result() -> None:
    for record in (PROJECT / "benchmarks" / "records").iterdir():
        assert (record / "README.md").is_file(), record
        assert (record / "result.json").is_file(), record
