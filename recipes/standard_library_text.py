"""A corpus that every machine has: the documentation inside Python's own standard library, 1.5 MB of prose.

Docstrings (read from the source files, nothing is imported) and the language reference of `pydoc_data` come in; a text
file goes out, one paragraph a line, a blank line between documents, no paragraph twice.

    python recipes/standard_library_text.py demo/python.txt

With a second file, a table goes there too: sentences of a few packages and the package that each is from.
"""

import ast
import csv
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

SKIPPED = {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "ensurepip"}
PACKAGES = ("asyncio", "email", "logging", "unittest", "xml")  # that every Python has, each of another trade
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def write_corpus(path: Path) -> int:
    """Writes the text and says how many documents it has."""
    seen: set[str] = set()
    documents = []
    for text in [*language_reference(), *docstrings(Path(sysconfig.get_path("stdlib")))]:
        fresh = [paragraph for paragraph in dict.fromkeys(paragraphs(text)) if paragraph not in seen]
        seen.update(fresh)
        if fresh:
            documents.append("\n".join(fresh))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return len(documents)


def write_table(path: Path) -> int:
    """Writes the first sentences of docstrings with the packages that they are from, and says how many."""
    folder = Path(sysconfig.get_path("stdlib"))
    rows = [(text, package) for package in PACKAGES for text in docstrings_one_by_one(folder / package)]
    first = {next(paragraphs(text), ""): package for text, package in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows((text, package) for text, package in first.items() if text)
    return len(first)


def language_reference() -> Iterator[str]:
    """What `help("with")` and its like show."""
    from pydoc_data.topics import topics

    yield from topics.values()


def docstrings(folder: Path) -> Iterator[str]:
    """All docstrings of one source file after another."""
    for path in sorted(folder.rglob("*.py")):
        if not SKIPPED.intersection(path.relative_to(folder).parts) and (found := docstrings_of(path)):
            yield "\n\n".join(found)


def docstrings_one_by_one(folder: Path) -> Iterator[str]:
    """The docstrings of a package."""
    for path in sorted(folder.rglob("*.py")):
        if not SKIPPED.intersection(path.relative_to(folder).parts):
            yield from docstrings_of(path)


def docstrings_of(path: Path) -> list[str]:
    """The docstrings of a source file; none of one that this Python cannot read."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, DOCUMENTED))
    return [text for text in found if text]


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a text, each paragraph joined into one line; code, grammar, tables and headings are left out.

    >>> list(paragraphs("Heading\\n*******\\n\\nA list is a\\nsequence of things.\\n\\n>>> print(1)\\n1\\n"))
    ['A list is a sequence of things.']
    """
    for block in re.split(r"\n\s*\n", text):
        line = " ".join(block.split())
        letters = sum(character.isalpha() or character == " " for character in line)
        is_code = ">>>" in line or "::=" in line or "***" in line or "---" in line
        if line.endswith((".", ":", "!", "?")) and line.count(" ") >= 3 and letters > 0.8 * len(line) and not is_code:
            yield line


if __name__ == "__main__":
    target = Path(sys.argv[1])
    count = write_corpus(target)
    print(f"{target}: {count:,} documents, {target.stat().st_size / 1e6:.1f} MB")
    if len(sys.argv) > 2:
        print(f"{sys.argv[2]}: {write_table(Path(sys.argv[2])):,} sentences of {', '.join(PACKAGES)}")
