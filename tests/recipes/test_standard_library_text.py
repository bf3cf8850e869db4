"""The demo's corpus is prose, in documents, without repeats."""

from pathlib import Path
from types import ModuleType

import pytest
from scripts import load_script

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    return load_script("recipes/standard_library_text.py")


def test_docstrings_of_a_file_are_one_document(recipe: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('"""A module about trees."""\n\n\ndef grow():\n    """Makes the tree taller."""\n')
    (tmp_path / "two.py").write_text('"""A module about rivers."""\n')
    assert list(recipe.docstrings(tmp_path)) == [
        "A module about trees.\n\nMakes the tree taller.",
        "A module about rivers.",
    ]


def test_a_file_that_is_no_python_is_passed_over(recipe: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:")
    assert list(recipe.docstrings(tmp_path)) == []


def test_paragraphs_leave_out_code_and_grammar(recipe: ModuleType) -> None:
    text = "This one is\nkept.\n\n>>> add(1, 2)\n3\n\nstatement ::= expression and more.\n\nToo short."
    assert list(recipe.paragraphs(text)) == ["This one is kept."]


@pytest.mark.slow
def test_the_corpus_has_many_documents_and_no_paragraph_twice(recipe: ModuleType, tmp_path: Path) -> None:
    count = recipe.write_corpus(tmp_path / "python.txt")
    documents = (tmp_path / "python.txt").read_text(encoding="utf-8").strip().split("\n\n")
    lines = [line for document in documents for line in document.split("\n")]
    assert count == len(documents) > 200
    assert len(lines) == len(set(lines)) > 3000


def test_the_table_has_each_sentence_once_with_its_package(
    recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, text in (("sea", "Sail the small boat home."), ("land", "Walk the long way home.")):
        (tmp_path / package).mkdir()
        (tmp_path / package / "code.py").write_text(f'"""{text}"""\n\n\ndef again():\n    """{text}"""\n')
    monkeypatch.setattr(recipe, "PACKAGES", ("sea", "land"))
    monkeypatch.setattr(recipe.sysconfig, "get_path", lambda _: str(tmp_path))
    assert recipe.write_table(tmp_path / "table.csv") == 2
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines == ["text,label", "Sail the small boat home.,sea", "Walk the long way home.,land"]
