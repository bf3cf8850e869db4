"""Cells of labelled rows, and what is said of files, rows and cells that do not have what they should."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unmask.errors import InputError

# of JSON's escapes; the surrogates from dc80 to dcff stand for bytes that are not UTF-8, and stay to tell of them
HALF_A_CHARACTER = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def shorten(names: Iterable[str], most: int = 10) -> str:
    """Names for a message, quoted, the first few.

    >>> shorten("abc", 2)
    "'a', 'b' and 1 more"
    """
    quoted = [f"'{name}'" for name in names]
    rest = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + rest


def cell_of(place: str, row: Mapping[str, Any], column: str) -> Any:
    """What a row has in a column."""
    try:
        return row[column]
    except KeyError:
        raise InputError(f"{place} without '{column}'", wanted="the same columns in every row") from None


def text_cell(place: str, row: Mapping[str, Any], column: str) -> str:
    """The text in a cell; null is an empty one."""
    value = cell_of(place, row, column)
    if value is None:
        return ""
    if not isinstance(value, str):
        got = f"{place}, column '{column}': a {type(value).__name__}"
        raise InputError(got, wanted="text in that column", do="name another with --columns text=NAME")
    return value if value.isascii() else HALF_A_CHARACTER.sub("\ufffd", value)


def is_blank(text: str) -> bool:
    """Whether there is nothing to read."""
    return not text or text.isspace()


def missing_column(path: Path, found: Iterable[str], *, wanted: Iterable[str], field: str) -> InputError:
    """What to say of a table without a column that is needed."""
    either = " or ".join(f"'{name}'" for name in wanted)
    do = f"name it with --columns {field}=NAME"
    return InputError(f"{path} with columns {shorten(found, 20)}", wanted=f"a column {either}", do=do)


def no_examples(path: Path, wanted: str) -> InputError:
    """What to say of a file without a single example."""
    return InputError(f"no examples in {path}", wanted=wanted)


def left_out_notes(left_out: Mapping[str, int]) -> tuple[str, ...]:
    """How many of what were left out, in words.

    >>> left_out_notes({"empty text": 2, "broken row": 0, "row without a label": 1})
    ('2 empty texts left out', '1 row without a label left out')
    """
    return tuple(f"{count} {_plural(what, count)} left out" for what, count in left_out.items() if count)


def _plural(what: str, count: int) -> str:
    head, blank, rest = what.partition(" with")
    return what if count == 1 else f"{head}s{blank}{rest}"
