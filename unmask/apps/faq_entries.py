"""The entries of an FAQ: tables of questions and answers in, each answer once with all the ways to ask for it out.

The columns are `question` and `answer`, and perhaps `paraphrases`: a list in json lines and parquet, separated by `|`
elsewhere. Rows with the same answer are one entry; its later questions are paraphrases of the first.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmask.data.cells import HALF_A_CHARACTER, is_blank, missing_column, text_cell
from unmask.data.table_rows import read_rows
from unmask.errors import InputError

SEPARATOR = "|"
COLUMNS = ("question", "answer", "paraphrases")


@dataclass(frozen=True)
class Entry:
    """An answer, and the questions that it answers."""

    question: str
    answer: str
    paraphrases: tuple[str, ...] = ()

    @property
    def phrasings(self) -> tuple[str, ...]:
        """All ways to ask, the question itself first."""
        return (self.question, *self.paraphrases)


@dataclass(frozen=True)
class FaqReading:
    """The entries of files, and what is to be said of them."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    conflicts: int = 0  # questions with several answers


def read_faq(paths: Sequence[Path], *, columns: Mapping[str, str] | None = None) -> FaqReading:
    """Reads FAQ files.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "faq.csv"
    >>> _ = file.write_text("question,answer\\nIs it free?,Yes.\\nWhat does it cost?,Yes.\\n,No.\\n")
    >>> reading = read_faq([file])
    >>> reading.entries[0].phrasings, reading.notes
    (('Is it free?', 'What does it cost?'), ('1 row without a question or an answer left out',))
    """
    rows = [row for path in paths for row in _rows(path, dict(columns or {}))]
    whole = [row for row in rows if not is_blank(row.question) and not is_blank(row.answer)]
    if not whole:
        raise InputError(f"no entries in {_names(paths)}", wanted="rows with a question and an answer")
    return _reading(merged(whole), len(rows) - len(whole))


def read_questions(path: Path, *, columns: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Questions to measure an FAQ on, each phrasing for itself, and the answer of each; empty where there is none.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "asked.csv"
    >>> _ = file.write_text("question,answer\\nDo I have to pay?,Yes.\\nWho are you?,\\n")
    >>> read_questions(file)
    (['Do I have to pay?', 'Who are you?'], ['Yes.', ''])
    """
    rows = list(_rows(path, dict(columns or {})))
    asked = [(way, row.answer) for row in rows for way in row.phrasings if not is_blank(way)]
    if not asked:
        raise InputError(f"no questions in {path}", wanted="rows with a question, and its answer if there is one")
    return [question for question, _ in asked], [answer for _, answer in asked]


def merged(rows: Iterable[Entry]) -> tuple[Entry, ...]:
    """One entry for each answer, in the order in which they come; what is asked twice is there once.

    >>> merged([Entry("Free?", "Yes."), Entry("free?", "Yes."), Entry("Costs?", "Yes.", ("Price?",))])
    (Entry(question='Free?', answer='Yes.', paraphrases=('Costs?', 'Price?')),)
    """
    answers: dict[str, str] = {}
    asked: dict[str, dict[str, str]] = {}
    for row in rows:
        key = plain(row.answer)
        answers.setdefault(key, row.answer.strip())
        ways = asked.setdefault(key, {})
        for phrasing in row.phrasings:
            if not is_blank(phrasing):
                ways.setdefault(plain(phrasing), phrasing.strip())
    entries = ((answers[key], tuple(ways.values())) for key, ways in asked.items())
    return tuple(Entry(ways[0], answer, ways[1:]) for answer, ways in entries)


def plain(text: str) -> str:
    """A text as it is compared: width, case and blanks do not count.

    >>> plain("  Is it  ＦＲＥＥ? ")
    'is it free?'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def write_entries(entries: Iterable[Entry], path: Path) -> None:
    """Writes entries as json lines, which `read_entries` and `read_faq` read."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in entries)


def read_entries(path: Path) -> tuple[Entry, ...]:
    """The entries as they were written."""
    try:
        return tuple(_rows(path, {}))
    except (OSError, InputError) as error:
        raise InputError(f"{path}, which is damaged or missing ({error})", do="build the FAQ again") from error


def _rows(path: Path, names: dict[str, str]) -> Iterator[Entry]:
    unknown = names.keys() - set(COLUMNS)
    if unknown:
        raise InputError(f"--columns {sorted(unknown)[0]}=…", wanted=", ".join(f"{name}=NAME" for name in COLUMNS))
    question, answer, paraphrases = (names.get(name, name) for name in COLUMNS)
    for number, (place, row) in enumerate(read_rows(path)):
        for name, field in ((question, "question"), (answer, "answer")):
            if number == 0 and name not in row:
                raise missing_column(path, row, wanted=(name,), field=field)
        if number == 0 and "paraphrases" in names and paraphrases not in row:
            raise missing_column(path, row, wanted=(paraphrases,), field="paraphrases")
        others = _paraphrases(place, row.get(paraphrases))
        yield Entry(text_cell(place, row, question), text_cell(place, row, answer), others)


def _paraphrases(place: str, cell: Any) -> tuple[str, ...]:
    if cell is None:
        return ()
    found = cell.split(SEPARATOR) if isinstance(cell, str) else cell
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise InputError(f"{place}: paraphrases {cell!r:.60}", wanted="a list of texts, or texts with | between them")
    return tuple(HALF_A_CHARACTER.sub("\ufffd", text) for text in found if not is_blank(text))


def _reading(entries: tuple[Entry, ...], empty: int) -> FaqReading:
    """What is worth saying before anyone relies on the answers."""
    asked = Counter(plain(phrasing) for entry in entries for phrasing in entry.phrasings)
    several = [phrasing for phrasing, answers in asked.items() if answers > 1]
    notes = []
    if empty:
        notes.append(f"{empty:,} row{'s' * (empty > 1)} without a question or an answer left out")
    if several:
        what = "question has" if len(several) == 1 else "questions have"
        notes.append(f"{len(several):,} {what} several answers, all of them kept, such as {several[0]!r:.80}")
    return FaqReading(entries, tuple(notes), len(several))


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))
