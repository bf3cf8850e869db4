"""Texts from files of five formats: a part of a txt, jsonl, csv, tsv or parquet file comes in, its documents go out.

Each format has one function that finds the pieces which documents are made from, with their borders (so that a file can
be cut into parts that are read apart), and one that makes the text of a piece. In txt a blank line is the border,
elsewhere each row is a document. Files stream, so memory follows the longest row allowed, not the file.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from unmask.errors import InputError
from unmask.text.streams import BLOCK_BYTES, COMPRESSED, decode, line_blocks, lines, open_bytes, pyarrow_for

LONGEST_DOCUMENT = 1 << 22  # bytes; a longer one goes on in the next
LONGEST_ROW = 1 << 26  # bytes; a longer one is refused
BLANK_LINE = rb"(?:[ \t\r\f\v]|\xc2\xa0|\xe3\x80\x80)*\n"
BLANK_LINES, LEADING_BLANK_LINES = re.compile(rb"\n(?:%s)+" % BLANK_LINE), re.compile(rb"(?:%s)*" % BLANK_LINE)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which only a JSON escape can hold


@dataclass(frozen=True)
class Text:
    """A document before its sentences are found; line ends in it are line ends of the file."""

    text: str
    source: str


@dataclass(frozen=True)
class TextRange:
    """A part of a file between two document borders, counted in bytes of uncompressed text (parquet: in row groups)."""

    path: Path
    start: int = 0
    stop: int | None = None
    line: int = 1  # the number of its first line (row in parquet)
    size: int = 0  # its bytes of text, where they were counted
    column: str = "text"  # the column that holds the text, in files with columns


def format_of(path: Path) -> str:
    """txt, jsonl, csv, tsv or parquet by the file's ending; a file of another ending that was named is text.

    >>> format_of(Path("reviews.csv.gz")), format_of(Path("wiki.train.raw"))
    ('csv', 'txt')
    """
    ending = ending_of(path)
    return {"json": "jsonl"}.get(ending, ending if ending in FORMATS else "txt")


def ending_of(path: Path) -> str:
    """The ending of a file's name without that of its compression.

    >>> ending_of(Path("reviews.CSV.gz"))
    'csv'
    """
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix[1:].lower()


def read_range(part: TextRange) -> Iterator[Text]:
    """The documents of a part of a file, not yet split into sentences.

    >>> [text.source for text in read_range(TextRange(Path(__file__)))][:2]
    ['formats.py:1', 'formats.py:3']
    """
    reader = FORMATS[format_of(part.path)]
    for piece in reader.pieces(part):
        yield Text(reader.text(part, piece), f"{part.path.name}:{piece.line}")


def cut_ranges(whole: TextRange, size: int, *, first: int | None = None) -> list[TextRange]:
    """A file in parts of about `size` bytes of text (the first of `first`), cut between documents.

    >>> [part] = cut_ranges(TextRange(Path(__file__)), 1 << 20)
    >>> part.start, part.stop == Path(__file__).stat().st_size
    (0, True)
    """
    if format_of(whole.path) == "parquet":
        return _cut_row_groups(whole, size, first or size)
    parts: list[TextRange] = []
    start, line, stop = 0, 1, 0
    for piece in FORMATS[format_of(whole.path)].pieces(whole):
        stop = piece.stop
        if stop - start >= (size if parts else first or size):
            parts.append(replace(whole, start=start, stop=stop, line=line, size=stop - start))
            start, line = stop, piece.next_line
    return parts if start == stop else [*parts, replace(whole, start=start, stop=stop, line=line, size=stop - start)]


class Piece(NamedTuple):
    """What one document is made from: bytes of text or cells of a row, and where it ends."""

    content: Any
    line: int
    next_line: int
    stop: int


def _txt_pieces(part: TextRange) -> Iterator[Piece]:
    line, rest = part.line, b""
    for offset, block in line_blocks(part.path, start=part.start, stop=part.stop):
        start = offset - len(rest)
        position = 0 if rest else LEADING_BLANK_LINES.match(block).end()  # type: ignore[union-attr]  # matches nothing too
        rest += block
        line += rest.count(b"\n", 0, position)
        for blank in BLANK_LINES.finditer(rest, position):
            next_line = line + rest.count(b"\n", position, blank.end())
            yield Piece((start + position, rest[position : blank.start()]), line, next_line, start + blank.end())
            line, position = next_line, blank.end()
        rest = rest[position:]
        if len(rest) >= LONGEST_DOCUMENT:
            next_line = line + rest.count(b"\n")
            yield Piece((start + position, rest), line, next_line, start + position + len(rest))
            line, rest = next_line, b""
    if rest:
        yield Piece((offset + len(block) - len(rest), rest), line, line + rest.count(b"\n"), offset + len(block))


def _txt_text(part: TextRange, piece: Piece) -> str:
    return _unix_lines(decode(part.path, *piece.content))


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _line_pieces(part: TextRange) -> Iterator[Piece]:
    found = lines(part.path, start=part.start, stop=part.stop, longest=LONGEST_ROW)
    for number, (offset, line) in enumerate(found, part.line):
        if not line.isspace():
            yield Piece(line, number, number + 1, offset + len(line))


def _json_text(part: TextRange, piece: Piece) -> str:
    place, wanted = f"{part.path} line {piece.line}", f"one JSON object a line, of at most {LONGEST_ROW >> 20} MB"
    line = decode(part.path, piece.stop - len(piece.content), piece.content)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: {error}", wanted=wanted) from None
    if not isinstance(row, dict):
        raise InputError(f"{place}: a {type(row).__name__}", wanted=wanted)
    return _cell(part, piece._replace(content=row))


def _cell(part: TextRange, piece: Piece) -> str:
    """The text of a row, which is a dictionary."""
    if part.column not in piece.content:
        raise _no_column(part, piece.content)
    value = piece.content[part.column]
    if not isinstance(value, str | None):
        got = f"{part.path} line {piece.line}: column '{part.column}' holds a {type(value).__name__}"
        raise InputError(got, wanted="text in that column", do="name another column with --column")
    return _unix_lines(LONE_SURROGATE.sub("\ufffd", value or ""))


def _no_column(part: TextRange, found: Iterable[str]) -> InputError:
    names = ", ".join(f"'{name}'" for name in found)
    do = "name the column that holds the text with --column"
    return InputError(f"{part.path} with columns {names}", wanted=f"a column '{part.column}'", do=do)


# A tab-separated file is literal, as its definition (IANA) says: no quotes, no line ends inside a cell.
CSV_DIALECTS: dict[str, dict[str, Any]] = {
    "csv": {"strict": True},
    "tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}


def _csv_pieces(part: TextRange) -> Iterator[Piece]:
    rows = _csv_rows(part)
    header = next(rows if part.start == 0 else _csv_rows(TextRange(part.path)), None)
    for row in rows:
        assert header is not None
        if len(row.content) > len(header.content):
            got = f"{part.path} line {row.line}: {len(row.content)} cells under {len(header.content)} columns"
            raise InputError(got, wanted="as many cells as columns", do="quote cells that hold the separator")
        if row.content:
            yield row._replace(content=dict(zip_longest(header.content, row.content)))


def _csv_rows(part: TextRange) -> Iterator[Piece]:
    stop, next_line = part.start, part.line

    def decoded() -> Iterator[str]:
        nonlocal stop, next_line
        for offset, line in lines(part.path, start=part.start, stop=part.stop, longest=LONGEST_ROW):
            stop, next_line = offset + len(line), next_line + 1
            yield decode(part.path, offset, line)

    csv.field_size_limit(LONGEST_ROW)  # the module's default refuses a row of 131 kB
    line = next_line
    try:
        for cells in csv.reader(decoded(), **CSV_DIALECTS[format_of(part.path)]):
            yield Piece(cells, line, next_line, stop)
            line = next_line
    except csv.Error as error:
        raise InputError(f"{part.path} line {line}: {error}", wanted="rows of cells, quotes closed") from None


def _parquet_pieces(part: TextRange) -> Iterator[Piece]:
    with open_parquet(part.path) as file:
        groups = range(part.start, file.num_row_groups if part.stop is None else part.stop)
        if part.column not in file.schema_arrow.names:
            raise _no_column(part, file.schema_arrow.names)
        row = part.line
        for batch in file.iter_batches(batch_size=256, row_groups=groups, columns=[part.column]):
            for content in batch.to_pylist():
                yield Piece(content, row, row + 1, 0)
                row += 1


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """A parquet file, whose parts are read in any order: one that is compressed as a whole is unpacked to the disk."""
    pyarrow = pyarrow_for(path)
    from pyarrow.parquet import ParquetFile

    try:
        if path.suffix == ".parquet":
            yield ParquetFile(path, buffer_size=BLOCK_BYTES, pre_buffer=False)
            return
        with TemporaryFile() as unpacked:
            with open_bytes(path) as stream:
                copyfileobj(stream, unpacked, BLOCK_BYTES)
            yield ParquetFile(unpacked, buffer_size=BLOCK_BYTES, pre_buffer=False)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: {error}", wanted="a whole, readable parquet file") from None


def _cut_row_groups(whole: TextRange, size: int, first: int) -> list[TextRange]:
    parts: list[TextRange] = []
    start, line, filled, rows = 0, 1, 0, 0
    with open_parquet(whole.path) as file:
        for group in range(file.num_row_groups):
            about = file.metadata.row_group(group)
            filled, rows = filled + about.total_byte_size, rows + about.num_rows
            if filled >= (size if parts else first) or group + 1 == file.num_row_groups:
                parts.append(replace(whole, start=start, stop=group + 1, line=line, size=filled))
                start, line, filled, rows = group + 1, line + rows, 0, 0
    return parts


class Format(NamedTuple):
    """How a kind of file is read: into pieces, and each piece into its text."""

    pieces: Callable[[TextRange], Iterator[Piece]]
    text: Callable[[TextRange, Piece], str]


FORMATS = {
    "txt": Format(_txt_pieces, _txt_text),
    "jsonl": Format(_line_pieces, _json_text),
    "csv": Format(_csv_pieces, _cell),
    "tsv": Format(_csv_pieces, _cell),
    "parquet": Format(_parquet_pieces, _cell),
}
