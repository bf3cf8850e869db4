"""Rows of labelled tables: a csv, tsv, txt, jsonl, json or parquet file comes in, dictionaries and their places go out.

A place is what a message names: the file and its line (in parquet the row, in a json array the item). Quotation marks
mean something in csv only; a tsv or txt is literal, as GLUE's files are.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from unmask.data.cells import shorten
from unmask.data.json_file import read_json
from unmask.data.json_lines import read_json_lines
from unmask.data.text_lines import numbered_lines
from unmask.errors import InputError
from unmask.text.formats import CSV_DIALECTS, LONGEST_ROW, ending_of, format_of, open_parquet
from unmask.text.streams import open_bytes

Row = tuple[str, dict[str, Any]]  # its place, its cells by column
Lines = Iterator[tuple[int, str]]  # with their numbers


def read_rows(
    path: Path, *, columns: Sequence[str] = (), broken: list[str] | None = None, strict: bool = True
) -> Iterator[Row]:
    """The rows of a table.

    `columns` names those of a file that may come without a header; its first line is one if it holds any of the names.
    Such a file may lack the last of them.
    Rows with too few or too many cells are an error, unless `broken` is there to collect their places; `strict` is that
    of lines.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "reviews.tsv"
    >>> _ = file.write_text('text\\tlabel\\na "fine" film\\t1\\n')
    >>> [row for _, row in read_rows(file)]
    [{'text': 'a "fine" film', 'label': '1'}]
    """
    kind = "tsv" if columns and format_of(path) == "txt" else format_of(path)
    if kind == "parquet":
        return _parquet_rows(path)
    if kind == "jsonl":
        return _array_rows(path) if ending_of(path) == "json" and _is_array(path) else _object_rows(path, strict)
    return _cell_rows(path, _CELLS[kind](numbered_lines(path, strict=strict), path), columns, broken)


def _cell_rows(
    path: Path, lines: Iterator[tuple[int, list[str]]], columns: Sequence[str], broken: list[str] | None
) -> Iterator[Row]:
    """Cells under their columns."""
    first = next(lines, None)
    if first is None:
        return
    header = first[1] if not columns or set(first[1]) & set(columns) else list(columns)[: len(first[1])]
    if format_of(path) == "txt" and not columns and len(first[1]) < 3:
        header = ["text"] if len(first[1]) == 1 else ["text_a", "text_b"]
    if header is not first[1]:
        lines = _again(first, lines)
    for number, cells in lines:
        place = f"{path} line {number}"
        if len(cells) == len(header):
            yield place, dict(zip(header, cells, strict=True))
        elif broken is None:
            got = f"{place}: {len(cells)} cells under {len(header)} columns ({shorten(header)})"
            raise InputError(got, wanted="as many cells as columns", do="quote cells of a csv that hold the separator")
        else:
            broken.append(place)


def _again(first: tuple[int, list[str]], lines: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from lines


def _txt_cells(lines: Lines, _: Path) -> Iterator[tuple[int, list[str]]]:
    return ((number, line.split("\t")) for number, line in lines)


def _tsv_cells(lines: Lines, _: Path) -> Iterator[tuple[int, list[str]]]:
    return ((number, line.split("\t")) for number, line in lines if line)


def _csv_cells(numbered: Lines, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line; a quoted cell may hold line ends."""
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in numbered:
            last = number
            yield line + "\n"

    csv.field_size_limit(LONGEST_ROW)  # the module's default refuses a row of 131 kB
    number = 1
    try:
        for cells in csv.reader(lines(), **CSV_DIALECTS["csv"]):
            if cells:
                yield number, cells
            number = last + 1
    except csv.Error as error:
        raise InputError(f"{path} line {number}: {error}", wanted="rows of cells, quotes closed") from None


_CELLS: dict[str, Callable[[Lines, Path], Iterator[tuple[int, list[str]]]]] = {
    "csv": _csv_cells,
    "tsv": _tsv_cells,
    "txt": _txt_cells,
}


def _object_rows(path: Path, strict: bool) -> Iterator[Row]:
    return ((f"{path} line {number}", row) for number, row in read_json_lines(path, strict=strict))


def _is_array(path: Path) -> bool:
    with open_bytes(path) as stream:
        return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _array_rows(path: Path) -> Iterator[Row]:
    for number, row in enumerate(read_json(path)):
        if not isinstance(row, dict):
            raise InputError(f"{path} [{number}]: a {type(row).__name__}", wanted="a list of JSON objects")
        yield f"{path} [{number}]", row


def _parquet_rows(path: Path) -> Iterator[Row]:
    number = 0
    with open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=4096):
            for row in batch.to_pylist():
                number += 1
                yield f"{path} row {number}", row
