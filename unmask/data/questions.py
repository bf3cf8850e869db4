"""Questions on contexts: SQuAD 1.1 and 2.0, DRCD and CMRC 2018 files and plain tables come in, examples go out.

Offsets are checked: an answer that does not stand at its own is looked for nearby, since published files have such
(CMRC 2018 by a character or two). Faults are named by the file and the path inside: data[3].paragraphs[1].qas[0].
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unmask.data.cells import left_out_notes, no_examples
from unmask.data.examples import GivenAnswer, QuestionExample, Reading
from unmask.data.json_file import read_json
from unmask.data.question_tables import Entry, table_entries
from unmask.errors import InputError
from unmask.text.formats import LONE_SURROGATE, ending_of

NEAR = 100  # characters within which a displaced answer is surely the one that was meant
NOT_FOUND = -1


def read_questions(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    labelled: bool = True,
    keep_unfound: bool = False,
) -> Reading:
    """The questions of a file; `columns` names those of a table.

    An answer that does not stand in its context cannot be learned from and is left out, and its question if it has no
    other; `keep_unfound` keeps it for scoring, where the text is enough, with the start -1.

    >>> import json, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "train.json"
    >>> question = {"id": "q1", "question": "Who sang?", "answers": [{"text": "Ann", "answer_start": 1}]}
    >>> _ = file.write_text(json.dumps({"data": [{"paragraphs": [{"context": "Ann sang.", "qas": [question]}]}]}))
    >>> reading = read_questions(file)
    >>> reading.examples[0].answers, reading.notes[0][:26]
    ((GivenAnswer(text='Ann', start=0),), '1 answer moved to where it')
    """
    examples, places = [], []
    moved: list[str] = []
    unfound: list[str] = []
    left_out = 0
    whole = read_json(path) if ending_of(path) == "json" else None
    table = whole is None or _is_table(whole)
    entries = table_entries(path, columns or {}, labelled=labelled) if table else _entries(path, whole)
    for place, context, entry in entries:
        given = _given_answers(place, entry) if labelled else None
        answers = None
        if given is not None:
            answers = tuple(GivenAnswer(text, locate(context, text, start)) for text, start in given)
            for answer, (_, start) in zip(answers, given, strict=True):
                if answer.start == NOT_FOUND:
                    unfound.append(place)
                elif start not in (answer.start, None):
                    moved.append(place)
            if given and not keep_unfound:
                answers = tuple(answer for answer in answers if answer.start != NOT_FOUND)
                if not answers:
                    left_out += 1
                    continue
        question = _text(place, entry, "question", "query_text")
        examples.append(QuestionExample(question, context, answers, str(entry.get("id", entry.get("query_id", "")))))
        places.append(place)
    if not examples and unfound:
        said = f"none of the answers stands in its context (first: {unfound[0]})"
        raise InputError(said, wanted="answers that are parts of their contexts, letter by letter")
    if not examples:
        raise no_examples(path, "questions with answers" if labelled else "questions")
    notes = [*_note(moved, "moved to where they stand"), *_note(unfound, "not found in their context")]
    return Reading(tuple(examples), (*notes, *left_out_notes({"question": left_out})), tuple(places))


def locate(context: str, answer: str, start: int | None) -> int:
    """Where an answer stands: at its start, else at the occurrence nearest to it, else nowhere (-1).

    >>> locate("a rose is a rose", "rose", 11), locate("a rose is a rose", "rose", None), locate("a rose", "lily", 0)
    (12, 2, -1)
    """
    if start is None:
        return context.find(answer)
    if start >= 0 and context.startswith(answer, start):
        return start
    # a lookahead finds occurrences that overlap, too
    found = (match.start() for match in re.finditer(f"(?={re.escape(answer)})", context))
    nearest = min(found, key=lambda place: abs(place - start), default=None)
    return nearest if nearest is not None and abs(nearest - start) <= NEAR else NOT_FOUND


def _is_table(whole: Any) -> bool:
    """Whether a JSON file is a list of flat objects, or one, and has none of the published layouts."""
    first = whole[0] if isinstance(whole, list) and whole else whole
    return isinstance(first, dict) and "question" in first


def _entries(path: Path, whole: Any) -> Iterator[Entry]:
    """Each question with its place and its context; CMRC's own layout has no paragraphs, or no `data` around all."""
    articles = whole if isinstance(whole, list) else _list(f"{path}", whole, "data")
    inside = f"{path} " if articles is whole else f"{path} data"
    for article_number, article in enumerate(articles):
        place = f"{inside}[{article_number}]"
        if isinstance(article, dict) and "context_text" in article:
            paragraphs = [(place, article)]
        else:
            listed = enumerate(_list(place, article, "paragraphs"))
            paragraphs = [(f"{place}.paragraphs[{number}]", paragraph) for number, paragraph in listed]
        for paragraph_place, paragraph in paragraphs:
            questions = _list(paragraph_place, paragraph, "qas")
            context = _text(paragraph_place, paragraph, "context", "context_text")
            for number, question in enumerate(questions):
                yield f"{paragraph_place}.qas[{number}]", context, _object(f"{paragraph_place}.qas[{number}]", question)


def _given_answers(place: str, entry: Mapping[str, Any]) -> list[tuple[str, int | None]] | None:
    """Texts and starts as the file has them; None where it has no answers at all."""
    if entry.get("is_impossible") is True:
        return []
    if "answers" not in entry:
        return None
    return [
        _given_answer(f"{place}.answers[{number}]", answer)
        for number, answer in enumerate(_list(place, entry, "answers"))
    ]


def _given_answer(place: str, answer: Any) -> tuple[str, int | None]:
    if isinstance(answer, str):  # CMRC's own layout
        return _text(place, {"text": answer}, "text"), None
    entry = _object(place, answer)
    start = entry.get("answer_start")
    if not isinstance(start, int | None) or isinstance(start, bool):
        raise InputError(f"{place}.answer_start: {start!r}", wanted="the number of a character")
    text = _text(place, entry, "text")
    if not text:
        raise InputError(f"{place}: an empty answer", wanted="a text from the context, or is_impossible for none")
    return text, start


def _object(place: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: a {type(value).__name__}", wanted="an object, as SQuAD's files have there")
    return value


def _list(place: str, value: Any, key: str) -> list[Any]:
    found = _object(place, value).get(key)
    if not isinstance(found, list):
        raise InputError(f"{place} without a list '{key}'", wanted="the layout of SQuAD's files")
    return found


def _text(place: str, entry: Mapping[str, Any], *names: str) -> str:
    found = next((entry[name] for name in names if name in entry), None)
    if not isinstance(found, str):
        raise InputError(f"{place} without a text '{names[0]}'", wanted="the layout of SQuAD's files")
    return LONE_SURROGATE.sub("\ufffd", found)


def _note(places: list[str], what: str) -> list[str]:
    if not places:
        return []
    if len(places) == 1:
        what = what.replace("they stand", "it stands").replace("their", "its")
    return [f"{len(places)} {'answer' if len(places) == 1 else 'answers'} {what} (first: {places[0]})"]
