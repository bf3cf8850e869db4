"""Labelled tables: a csv, tsv, txt, jsonl or parquet file of texts or pairs comes in, text examples go out.

A layout says which columns hold what; every fault is named by its file, line and column. What fine-tuning has to know
of labels, that dev has none which train lacks and that there is more than one, is checked here as well.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from unmask.data.cells import cell_of, is_blank, left_out_notes, missing_column, no_examples, shorten, text_cell
from unmask.data.examples import Reading, TextExample
from unmask.data.table_rows import read_rows
from unmask.errors import InputError

LabelKind = Literal["class", "several", "value"]
Label = str | tuple[str, ...] | float


@dataclass(frozen=True)
class Layout:
    """Where a table keeps what; of several names the first that the file has counts."""

    text: tuple[str, ...] = ("text", "text_a")
    pair: tuple[str, ...] = ("text_b",)
    label: tuple[str, ...] = ("label",)
    id: tuple[str, ...] = ("id", "index")
    negative: tuple[str, ...] = ()  # a third text, which only seems to belong to the first
    columns: tuple[str, ...] = ()  # the columns of files that come without a header
    label_names: Mapping[str, str] = field(default_factory=dict)  # other names for the file's labels
    unlabelled: tuple[str, ...] = ()  # labels that mean there is none: their rows are left out
    broken: bool = False  # rows with another number of cells are left out, as the set's own readers do


PLAIN = Layout()
FIELDS = {"text": "text", "text_a": "text", "text_b": "pair", "text_c": "negative", "label": "label", "id": "id"}


def read_table(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    labels: LabelKind = "class",
    separator: str = "|",
    layout: Layout = PLAIN,
    labelled: bool = True,
) -> Reading:
    """The examples of a table; `columns` maps text, text_a, text_b, text_c, label or id to the names of the file.

    Where labels are not asked for they are not read, and every row stays, so that answers keep step with the file,
    those too that are not UTF-8: lone surrogates in them tell.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = file.write_text("review,stars\\nGood,5\\n,1\\nBad,1\\n")
    >>> reading = read_table(file, columns={"text": "review", "label": "stars"})
    >>> [(example.text, example.label) for example in reading.examples], reading.notes
    ([('Good', '5'), ('Bad', '1')], ('1 empty text left out',))
    """
    layout = rename_columns(layout, columns or {})
    broken: list[str] = []
    left_out: Counter[str] = Counter()
    examples, places = [], []
    read: _RowReader | None = None
    rows = read_rows(path, columns=layout.columns, broken=broken if layout.broken else None, strict=labelled)
    for place, row in rows:
        read = read or _RowReader(layout, _find_columns(path, row, layout, labelled=labelled), labels, separator)
        example = read(place, row)
        if isinstance(example, str):
            left_out[example] += 1
        else:
            examples.append(example)
            places.append(place)
    left_out["row with missing or extra cells"] = len(broken)
    if not examples:
        raise no_examples(path, "rows with a text and a label" if labelled else "rows with a text")
    return Reading(tuple(examples), left_out_notes(left_out), tuple(places))


def check_labels(train: Reading, dev: Reading | None = None) -> tuple[str, ...]:
    """The classes of a training set in their order; an error if there is only one, or if dev has one that train lacks.

    >>> check_labels(Reading((TextExample("a", label="10"), TextExample("b", label="9"))))
    ('9', '10')
    """
    known = {label for example in train.examples for label in _classes(example)}
    if len(known) < 2 and not any(isinstance(example.label, tuple) for example in train.examples):
        got = f"the one label {', '.join(map(repr, known))} in all {len(train.examples)} training examples"
        raise InputError(got, wanted="two labels or more", do="check which column holds the labels")
    if dev:
        check_known(dev, known, "no training example has", do="mend the label or add to train")
    return order_labels(known)


def check_known(reading: Reading, known: Collection[str], said: str, *, do: str) -> None:
    """An error if an example has a label that is not among the known ones: one that `said`."""
    for number, example in enumerate(reading.examples):
        for label in _classes(example):
            if label not in known:
                place = f"{reading.places[number]}: " if reading.places else ""
                wanted = f"one of {shorten(order_labels(known))}"
                raise InputError(f"{place}label {label!r}, which {said}", wanted=wanted, do=do)


def order_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels by number if they are numbers, else by name.

    >>> order_labels({"10", "9"}), order_labels({"b", "a"})
    (('9', '10'), ('a', 'b'))
    """
    distinct = set(labels)
    if all(label.isascii() and label.removeprefix("-").isdigit() for label in distinct):
        return tuple(sorted(distinct, key=int))
    return tuple(sorted(distinct))


def rename_columns(layout: Layout, columns: Mapping[str, str]) -> Layout:
    """The layout with the names that a user gave."""
    for name, column in columns.items():
        if name not in FIELDS:
            wanted = f"one of {', '.join(FIELDS)}"
            raise InputError(f"a column for '{name}'", wanted=wanted, do="write e.g. --columns text=review,label=stars")
        changed: dict[str, Any] = {FIELDS[name]: (column,)}
        layout = replace(layout, **changed)
    return layout


class _Columns(NamedTuple):
    """The columns of one file that are read."""

    text: str
    pair: str | None
    label: str | None
    id: str | None
    negative: str | None


def _find_columns(path: Path, row: Mapping[str, Any], layout: Layout, *, labelled: bool) -> _Columns:
    text, pair, label, id, negative = (
        next((name for name in names if name in row), None)
        for names in (layout.text, layout.pair, layout.label, layout.id, layout.negative)
    )
    if text is None:
        raise missing_column(path, row, wanted=layout.text, field="text")
    if labelled and label is None:
        raise missing_column(path, row, wanted=layout.label, field="label")
    return _Columns(text, pair, label if labelled else None, id, negative)


@dataclass(frozen=True)
class _RowReader:
    """Makes an example of each row."""

    layout: Layout
    columns: _Columns
    kind: LabelKind
    separator: str

    def __call__(self, place: str, row: Mapping[str, Any]) -> TextExample | str:
        """The example, or what the row is that it has to be left out."""
        columns = self.columns
        text = text_cell(place, row, columns.text)
        pair = text_cell(place, row, columns.pair) if columns.pair else None
        id = str(row.get(columns.id, "")) if columns.id else ""
        negative = (text_cell(place, row, columns.negative) or None) if columns.negative else None
        if columns.label is None:
            return TextExample(text, pair, id=id, negative=negative)
        if is_blank(text) or (pair is not None and is_blank(pair)):
            return "empty text"
        cell = cell_of(place, row, columns.label)
        if cell in self.layout.unlabelled:
            return "row without a label"
        label = LABELS[self.kind](cell, f"{place}, column '{columns.label}'", self.separator)
        if isinstance(label, str):
            label = self.layout.label_names.get(label, label)
        return TextExample(text, pair, label, id, negative)


def _class_label(cell: Any, place: str, separator: str) -> str:  # noqa: ARG001  # all kinds are called alike
    if isinstance(cell, bool) or not isinstance(cell, str | int | float) or cell != cell:
        return _no_label(cell, place) if not isinstance(cell, bool) else str(cell).lower()
    label = str(cell).strip()
    return label or _no_label(cell, place)


def _no_label(cell: Any, place: str) -> str:
    got = "no label" if cell is None or cell == "" else f"{cell!r}"
    raise InputError(f"{place}: {got}", wanted="a label", do="add it or leave the row out")


def _several_labels(cell: Any, place: str, separator: str) -> tuple[str, ...]:
    if isinstance(cell, str):
        return tuple(label for part in cell.split(separator) if (label := part.strip()))
    if not isinstance(cell, list | tuple):
        wanted = f"a list of labels, or labels with '{separator}' between"
        raise InputError(f"{place}: a {type(cell).__name__}", wanted=wanted)
    return tuple(_class_label(label, place, separator) for label in cell)


def _value_label(cell: Any, place: str, separator: str) -> float:  # noqa: ARG001  # all kinds are called alike
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: {cell!r}", wanted="a number", do="mend the value or leave the row out")
    return value


LABELS: dict[LabelKind, Callable[[Any, str, str], Label]] = {
    "class": _class_label,
    "several": _several_labels,
    "value": _value_label,
}


def _classes(example: TextExample) -> tuple[str, ...]:
    if isinstance(example.label, tuple):
        return example.label
    return (example.label,) if isinstance(example.label, str) else ()
