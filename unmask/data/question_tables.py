"""Questions in plain tables: csv, tsv, jsonl or parquet rows come in, entries as SQuAD's files have them go out.

A row has a `question`, its `context` and an `answer`, which may be empty where the context does not say, and may have
its first character in `answer_start`. Or it has `answers` as sets on the hub do: {"text": […], "answer_start": […]}.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unmask.data.cells import cell_of, is_blank, missing_column, text_cell
from unmask.data.table_rows import read_rows
from unmask.errors import InputError

FIELDS = ("question", "context", "answer", "answer_start", "answers", "id")
Entry = tuple[str, str, Mapping[str, Any]]  # its place, its context, and the question as SQuAD's files have it


def table_entries(path: Path, columns: Mapping[str, str], *, labelled: bool = True) -> Iterator[Entry]:
    """Each row as an entry; `columns` maps fields to the file's names.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "asked.csv"
    >>> _ = file.write_text("question,text,answer\\nWho sang?,Ann sang.,Ann\\n")
    >>> [entry for _, _, entry in table_entries(file, {"context": "text"})]
    [{'question': 'Who sang?', 'id': '', 'answers': [{'text': 'Ann', 'answer_start': None}]}]
    """
    for name in columns.keys() - set(FIELDS):
        raise InputError(f"--columns {name}={columns[name]}", wanted=f"one of {', '.join(FIELDS)}")
    names = {field: columns.get(field, field) for field in FIELDS}
    for place, row in read_rows(path, strict=labelled):
        for field in ("question", "context"):
            if names[field] not in row:
                raise missing_column(path, row, wanted=[names[field]], field=field)
        entry: dict[str, Any] = {"question": text_cell(place, row, names["question"]), "id": row.get(names["id"]) or ""}
        if labelled:
            entry["answers"] = _answers(path, place, row, names)
        yield place, text_cell(place, row, names["context"]), entry


def _answers(path: Path, place: str, row: Mapping[str, Any], names: Mapping[str, str]) -> list[Any]:
    several = row.get(names["answers"])
    if isinstance(several, dict):
        texts, starts = several.get("text"), several.get("answer_start")
        if not (isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts)):
            raise InputError(f"{place}, column '{names['answers']}'", wanted="as many of text as of answer_start")
        return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    if isinstance(several, list):
        return several
    if names["answer"] not in row:
        raise missing_column(path, row, wanted=[names["answer"]], field="answer")
    text = text_cell(place, row, names["answer"])
    start = cell_of(place, row, names["answer_start"]) if names["answer_start"] in row else None
    return [] if is_blank(text) else [{"text": text, "answer_start": _start(place, start, names["answer_start"])}]


def _start(place: str, cell: Any, column: str) -> int | None:
    """The number in a cell, if there is one."""
    if cell is None or (isinstance(cell, str) and is_blank(cell)):
        return None
    try:
        return int(cell)
    except (TypeError, ValueError):
        raise InputError(f"{place}, column '{column}': {cell!r}", wanted="the number of a character") from None
