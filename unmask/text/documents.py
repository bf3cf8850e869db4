"""Documents from files: txt, jsonl, csv, tsv and parquet, each plain, .gz or .zst, come in; their sentences go out.

In txt a blank line ends a document; elsewhere each row is one. A line end is a sentence end too, unless the document is
hard-wrapped, when its lines are joined into paragraphs first. Everything streams: memory does not follow the size of
a file, nor of a document, since one that is too long goes on in the next (see `formats.LONGEST_DOCUMENT`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from unmask.errors import InputError
from unmask.text.formats import FORMATS, TextRange, ending_of, format_of, read_range
from unmask.text.sentences import CHINESE, split_sentences
from unmask.text.streams import BLOCK_BYTES, decode, line_blocks

Lines = Literal["auto", "sentences", "wrapped"]

WIDEST_PAGE, NARROWEST_PAGE = 120, 40
LOOK_AT = 64  # lines: enough to tell, whatever the length of the document
WIDE = re.compile(f"[{CHINESE}\uff01-\uff60\u3001-\u3003]")
SENTENCE_OVER = re.compile(r"[.!?…:;。！？：；｡][\"'”’»)\]}」』】》）]*\s*$")


@dataclass(frozen=True)
class Document:
    """Sentences that belong together, in order, and where they stand: `file:line` (`file:row` in parquet)."""

    sentences: tuple[str, ...]
    source: str


def read_documents(paths: Sequence[Path], *, column: str | None = None, lines: Lines = "auto") -> Iterator[Document]:
    """The documents of files and folders, in order; at least one, or the corpus is empty.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "story.txt"
    >>> _ = file.write_text("It rained. We stayed.\\n\\n天晴了。我们走吧！\\n", encoding="utf-8")
    >>> for document in read_documents([file]):
    ...     print(document)
    Document(sentences=('It rained.', 'We stayed.'), source='story.txt:1')
    Document(sentences=('天晴了。', '我们走吧！'), source='story.txt:3')
    """
    found = False
    for path in find_files(paths):
        for text in read_range(TextRange(path, column=column or "text")):
            if sentences := sentences_of(text.text, lines=lines):
                found = True
                yield Document(tuple(sentences), text.source)
    if not found:
        raise empty_corpus(paths)


def read_texts(paths: Sequence[Path], *, column: str | None = None) -> Iterator[str]:
    """All text in blocks of about a megabyte that end at line ends: no documents, no sentences, as fast as it decodes.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "story.txt"
    >>> _ = file.write_text("It rained.\\n\\nWe stayed.\\n")
    >>> list(read_texts([file]))
    ['It rained.\\n\\nWe stayed.\\n']
    """
    found = False
    for path in find_files(paths):
        if format_of(path) == "txt":
            blocks: Iterable[str] = (decode(path, offset, block) for offset, block in line_blocks(path))
        else:
            blocks = _joined(text.text for text in read_range(TextRange(path, column=column or "text")))
        for block in blocks:
            found = found or not block.isspace()
            yield block
    if not found:
        raise empty_corpus(paths)


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files named, and those with a known ending in the folders named, sorted within each folder.

    >>> [path.name for path in find_files([Path(__file__)])]
    ['documents.py']
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
            found += sorted(file for file in inside if ending_of(file) in FORMATS)
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"no file or folder {path}", wanted="an existing text file or folder", do="check the path")
    if not found:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise InputError(f"no text in {_names(paths)}", wanted=f"files ending in {endings} (also .gz, .zst)")
    return found


def empty_corpus(paths: Sequence[Path]) -> InputError:
    """The error for files that hold no text at all."""
    return InputError(
        f"no text in {_names(paths)}", wanted="at least one sentence", do="check that the files are not empty"
    )


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(str(path) for path in paths[:3]) + (" …" if len(paths) > 3 else "")


def _joined(texts: Iterable[str]) -> Iterator[str]:
    """Texts put together into blocks of about a megabyte."""
    block: list[str] = []
    filled = 0
    for text in texts:
        block.append(text)
        filled += len(text)
        if filled >= BLOCK_BYTES:
            yield "\n".join([*block, ""])
            block, filled = [], 0
    if block:
        yield "\n".join([*block, ""])


def sentences_of(text: str, *, lines: Lines = "auto") -> list[str]:
    """The sentences of a document's text, whose lines hold whole sentences or, if hard-wrapped, parts of paragraphs.

    >>> sentences_of("One. Two.\\nThree")
    ['One.', 'Two.', 'Three']
    >>> sentences_of("The fox ran over the\\nhill. It slept.", lines="wrapped")
    ['The fox ran over the hill.', 'It slept.']
    """
    rows = [row for row in text.split("\n") if row and not row.isspace()]
    if lines == "wrapped" or (lines == "auto" and is_wrapped(rows)):
        rows = list(_paragraphs(rows))
    return [sentence for row in rows for sentence in split_sentences(row)]


def is_wrapped(rows: Sequence[str]) -> bool:
    """Whether lines were broken at a page width: each is as full as it can be, and most breaks stand inside a sentence.

    No line is wider than a page; at nine of ten breaks the next line's first word would not have fitted into the widest
    line's width; and at half of them or more the sentence goes on: no stop before, a small letter after (or, where
    letters have no case, four lines at least).

    >>> is_wrapped(["The old man went down to the shore, where", "he looked at boats that lay like fish", "asleep."])
    True
    >>> is_wrapped(["The old man went down to the shore.", "He looked at the boats.", "They lay there like fish."])
    False
    """
    rows = rows[:LOOK_AT]
    if len(rows) < 2 or max(map(len, rows)) > WIDEST_PAGE:
        return False
    width = max(map(_columns, rows))
    breaks = list(pairwise(rows))
    full = sum(_columns(row) + _first_word_columns(following) >= width for row, following in breaks)
    inside = sum(not SENTENCE_OVER.search(row) and _goes_on(following, len(rows)) for row, following in breaks)
    return NARROWEST_PAGE <= width <= WIDEST_PAGE and full >= 0.9 * len(breaks) and inside >= 0.5 * len(breaks)


def _goes_on(row: str, rows: int) -> bool:
    first = row.lstrip()[0]
    return first.islower() or (not first.isupper() and rows >= 4)


def _columns(row: str) -> int:
    """The width of a line on a page, where a Chinese character takes two columns."""
    row = row.rstrip()
    return len(row) if row.isascii() else len(row) + len(WIDE.findall(row))


def _first_word_columns(row: str) -> int:
    """The room that the first word of a line would need: two Chinese characters, since no line begins with a stop."""
    word = row.split(maxsplit=1)[0]
    return 1 + (4 if WIDE.match(word) else len(word))


def _paragraphs(rows: Iterable[str]) -> Iterator[str]:
    """Joins the lines of each paragraph, Chinese ones without a space; an indented line begins a new paragraph."""
    paragraph = ""
    for row in rows:
        if paragraph and row[0].isspace():
            yield paragraph
            paragraph = ""
        row = row.strip()
        between = "" if not paragraph or (WIDE.match(row) and WIDE.match(paragraph[-1])) else " "
        paragraph += between + row
    if paragraph:
        yield paragraph
