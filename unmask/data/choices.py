"""Multiple choice: SWAG, CODAH, C3 and plain tables of contexts and endings come in, choice examples go out.

A table has columns `context` and `ending0`, `ending1`, … or a list `endings`, and a `label`, the number of the right
one. SWAG's endings go on from a second sentence (`sent2`), which is therefore put before each of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.data.cells import is_blank, left_out_notes, missing_column, no_examples, text_cell
from unmask.data.examples import ChoiceExample, Reading
from unmask.data.json_file import read_json
from unmask.data.table_rows import read_rows
from unmask.errors import InputError
from unmask.text.formats import LONE_SURROGATE

ENDING = re.compile(r"ending_?(\d+)")
FIELDS = ("context", "question", "start", "endings", "label", "id")


@dataclass(frozen=True)
class ChoiceLayout:
    """Where a table keeps what; endings are a list in one column, or a column each."""

    context: str = "context"
    question: str = "question"
    start: str = ""  # the column that every ending goes on from
    endings: str = "endings"
    label: str = "label"
    id: str = "id"
    columns: tuple[str, ...] = ()  # the columns of files that come without a header


PLAIN = ChoiceLayout()
SWAG = ChoiceLayout(context="sent1", start="sent2", id="video-id")
CODAH = ChoiceLayout(columns=("category", "context", "ending0", "ending1", "ending2", "ending3", "label"))


def read_choices(
    path: Path, *, columns: Mapping[str, str] | None = None, layout: ChoiceLayout = PLAIN, labelled: bool = True
) -> Reading:
    """The examples of a table; `columns` maps context, question, start, endings, label or id to the file's names.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "endings.csv"
    >>> _ = file.write_text("context,ending0,ending1,label\\nIt rains.,Ann gets wet.,Ann burns.,0\\n")
    >>> read_choices(file).examples[0].endings
    ('Ann gets wet.', 'Ann burns.')
    """
    layout = _rename(layout, columns or {})
    examples, places, empty = [], [], 0
    for place, row in read_rows(path, columns=layout.columns):
        for name in (layout.context, layout.label)[: 1 + labelled]:
            if name not in row:
                raise missing_column(path, row, wanted=[name], field="context" if name == layout.context else "label")
        context, endings = text_cell(place, row, layout.context), _endings(place, row, layout)
        if labelled and (is_blank(context) or any(map(is_blank, endings))):
            empty += 1
            continue
        label = _label(f"{place}, column '{layout.label}'", row[layout.label], len(endings)) if labelled else None
        question = text_cell(place, row, layout.question) if layout.question in row else ""
        examples.append(ChoiceExample(context, endings, label, question, str(row.get(layout.id, ""))))
        places.append(place)
    if not examples:
        raise no_examples(path, "rows with a context, endings and a label")
    return Reading(tuple(examples), left_out_notes({"row with an empty text": empty}), tuple(places))


def read_c3(path: Path, *, labelled: bool = True) -> Reading:
    """The questions of a C3 file: passages (dialogues by lines), each with questions and two to four choices."""
    examples, places = [], []
    for place, context, id, entry in _c3_entries(path):
        try:
            question, choices = entry["question"], entry["choice"]
            label = choices.index(entry["answer"]) if labelled else None
        except (KeyError, TypeError, AttributeError):
            raise InputError(place, wanted="an object with question, choice (a list) and answer") from None
        except ValueError:
            raise InputError(f"{place}: answer {entry['answer']!r}", wanted="one of the choices") from None
        if not all(isinstance(text, str) for text in (question, *choices)) or len(choices) < 2:
            raise InputError(place, wanted="a question and two choices or more, all texts")
        examples.append(ChoiceExample(context, tuple(map(_whole, choices)), label, _whole(question), id))
        places.append(place)
    if not examples:
        raise no_examples(path, "passages with questions")
    return Reading(tuple(examples), (), tuple(places))


def _c3_entries(path: Path) -> Iterator[tuple[str, str, str, Any]]:
    """Each question with its place, its passage and its name: its own, or that of its passage and a number."""
    whole = read_json(path)
    if not isinstance(whole, list):
        raise InputError(f"{path}: a {type(whole).__name__}", wanted="C3's list of passages")
    for number, passage in enumerate(whole):
        try:
            lines, questions, name = passage if len(passage) > 2 else (*passage, number)
            context = _whole("\n".join(lines))
            listed = list(questions)
        except (TypeError, ValueError):
            raise InputError(f"{path} [{number}]", wanted="[lines of the passage, questions, name]") from None
        for question_number, question in enumerate(listed):
            own = question.get("id") if isinstance(question, dict) else None
            id = f"{name}-{question_number}" if own is None else str(own)
            yield f"{path} [{number}][1][{question_number}]", context, id, question


def _whole(text: str) -> str:
    return LONE_SURROGATE.sub("\ufffd", text)


def _rename(layout: ChoiceLayout, columns: Mapping[str, str]) -> ChoiceLayout:
    if unknown := set(columns) - set(FIELDS):
        raise InputError(f"a column for '{min(unknown)}'", wanted=f"one of {', '.join(FIELDS)}", do="see --columns")
    return ChoiceLayout(**{**{name: getattr(layout, name) for name in (*FIELDS, "columns")}, **columns})


def _endings(place: str, row: Mapping[str, Any], layout: ChoiceLayout) -> tuple[str, ...]:
    """The texts to choose from, each with what it goes on from."""
    found = row.get(layout.endings)
    if found is None:
        numbered = sorted((int(match[1]), name) for name in row if (match := ENDING.fullmatch(name)))
        found = [text_cell(place, row, name) for _, name in numbered if row[name] is not None]
    if not _is_texts(found) or len(found) < 2:
        got = f"{place}: {'no' if not found else 'bad'} endings"
        raise InputError(got, wanted=f"two or more: columns ending0, ending1, … or a list '{layout.endings}'")
    start = text_cell(place, row, layout.start) if layout.start in row else ""
    return tuple(_whole(f"{start} {ending}" if start and ending else ending) for ending in found)


def _is_texts(found: Any) -> bool:
    return isinstance(found, Sequence) and not isinstance(found, str) and all(isinstance(text, str) for text in found)


def _label(place: str, cell: Any, endings: int) -> int:
    try:
        label = int(cell) if isinstance(cell, str | int) else -1
    except ValueError:
        label = -1
    if not 0 <= label < endings:
        raise InputError(f"{place}: {cell!r}", wanted=f"the number of the right ending, 0 to {endings - 1}")
    return label
