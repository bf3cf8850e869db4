"""Questions on contexts: every published layout, displaced answers, and faults by their path inside the file."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.examples import GivenAnswer
from unmask.data.questions import NEAR, locate, read_questions
from unmask.errors import InputError

CONTEXT = "Ann sang in Oslo. Ben sang in Rome."


def squad(folder: Path, *questions: dict[str, Any], context: str = CONTEXT) -> Path:
    file = folder / "train-v1.1.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": list(questions)}]}]}))
    return file


def asked(*answers: tuple[str, int], **more: Any) -> dict[str, Any]:
    given = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": "q1", "question": "Where?", "answers": given, **more}


def test_answers_stand_where_the_file_says(tmp_path: Path) -> None:
    reading = read_questions(squad(tmp_path, asked(("sang", 22), ("Rome", 30))))
    [example] = reading.examples
    assert (example.id, example.question, example.context) == ("q1", "Where?", CONTEXT)
    assert example.answers == (GivenAnswer("sang", 22), GivenAnswer("Rome", 30))
    assert reading.notes == ()
    assert reading.places[0].endswith("train-v1.1.json data[0].paragraphs[0].qas[0]")


def test_an_impossible_question_has_no_answer(tmp_path: Path) -> None:
    plausible = {"plausible_answers": [{"text": "Oslo", "answer_start": 12}]}
    reading = read_questions(squad(tmp_path, asked(is_impossible=True, **plausible), asked(("Oslo", 12))))
    assert [example.answers for example in reading.examples] == [(), (GivenAnswer("Oslo", 12),)]


def test_answers_that_are_asked_for_are_none(tmp_path: Path) -> None:
    question = {"id": "q", "question": "Who?"}
    assert read_questions(squad(tmp_path, question)).examples[0].answers is None
    assert read_questions(squad(tmp_path, asked(("Oslo", 12))), labelled=False).examples[0].answers is None


def test_a_displaced_answer_is_moved_to_the_nearest_place(tmp_path: Path) -> None:
    reading = read_questions(squad(tmp_path, asked(("sang", 20)), asked(("sang", 5))))
    assert [example.answers[0].start for example in reading.examples] == [22, 4]
    assert reading.notes[0].startswith("2 answers moved to where they stand (first: ")


def test_an_answer_that_is_nowhere_near_is_left_out_or_kept_for_scoring(tmp_path: Path) -> None:
    far = "Oslo" + " " * (NEAR + 10)
    file = squad(tmp_path, asked(("Paris", 0)), asked(("Oslo", NEAR + 9)), asked(("Oslo", 0), ("Bonn", 3)), context=far)
    reading = read_questions(file)
    assert [example.answers for example in reading.examples] == [(GivenAnswer("Oslo", 0),)]
    assert reading.notes[0].startswith("3 answers not found in their context (first: ")
    assert reading.notes[1] == "2 questions left out"
    kept = read_questions(file, keep_unfound=True)
    assert [example.answers[-1].start for example in kept.examples] == [-1, -1, -1]


def test_a_file_whose_answers_stand_nowhere_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the answers stands in its context \(first: .*qas\[0\]"):
        read_questions(squad(tmp_path, asked(("Paris", 0))))


@given(st.text(st.sampled_from("ab"), max_size=30), st.text(st.sampled_from("ab"), min_size=1), st.integers(-3, 30))
def test_the_nearest_occurrence_is_found(context: str, answer: str, start: int) -> None:
    occurrences = [place for place in range(len(context)) if context[place : place + len(answer)] == answer]
    expected = min(occurrences, key=lambda place: abs(place - start), default=-1)
    assert abs(locate(context, answer, start) - start) == abs(expected - start)
    assert locate(context, answer, start) in [*occurrences, -1]


def test_the_layout_of_cmrc_itself_is_read(tmp_path: Path) -> None:
    question = {"query_id": "T_0", "query_text": "谁唱歌？", "answers": ["小安", "安"]}
    article = {"context_id": "T", "context_text": "小安在唱歌。", "qas": [question]}
    whole, bare = tmp_path / "trial.json.gz", tmp_path / "bare.json"
    whole.write_bytes(gzip.compress(json.dumps({"version": "1.0", "data": [article]}, ensure_ascii=False).encode()))
    bare.write_text(json.dumps([article]))
    for file in (whole, bare):
        [example] = read_questions(file).examples
        assert read_questions(file).notes == ()
        assert example.answers == (GivenAnswer("小安", 0), GivenAnswer("安", 1))
        assert (example.id, example.question) == ("T_0", "谁唱歌？")
    assert read_questions(bare).places[0].endswith("bare.json [0].qas[0]")


FAULTS: dict[str, tuple[Any, str]] = {
    "no data": ({"version": "1"}, "without a list 'data'"),
    "a number": (7, "a int"),
    "no paragraphs": ({"data": [{}]}, r"data\[0\] without a list 'paragraphs'"),
    "an article": ({"data": ["x"]}, r"data\[0\]: a str"),
    "no context": ({"data": [{"paragraphs": [{"qas": []}]}]}, r"paragraphs\[0\] without a text 'context'"),
    "no questions": ({"data": [{"paragraphs": [{"context": "x"}]}]}, r"paragraphs\[0\] without a list 'qas'"),
    "nothing": ({"data": []}, "no examples in"),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_by_its_path(tmp_path: Path, content: Any, message: str) -> None:
    file = tmp_path / "dev.json"
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"dev\.json.*" + message if message[0] != "n" else message):
        read_questions(file)


QUESTION_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no question": ({"answers": []}, r"qas\[0\] without a text 'question'"),
    "no list": ({"question": "x", "answers": {}}, r"qas\[0\] without a list 'answers'"),
    "start": (
        {"question": "x", "answers": [{"text": "a", "answer_start": "1"}]},
        r"qas\[0\].answers\[0\].answer_start: '1'",
    ),
    "empty": (
        {"question": "x", "answers": [{"text": "", "answer_start": 1}]},
        r"qas\[0\].answers\[0\]: an empty answer",
    ),
}


@pytest.mark.parametrize(("question", "message"), QUESTION_FAULTS.values(), ids=QUESTION_FAULTS)
def test_a_fault_of_a_question_is_named_by_its_path(tmp_path: Path, question: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=r"train-v1.1.json data\[0\].paragraphs\[0\]." + message):
        read_questions(squad(tmp_path, question))


def test_broken_json_is_named_by_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "dev.json"
    file.write_text('{"data": [\n{"paragraphs": }]}')
    with pytest.raises(InputError, match=r"dev.json line 2 column 16: Expecting value"):
        read_questions(file)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_plain_tables_hold_questions_too(tmp_path: Path, ending: str) -> None:
    rows = [
        {"question": "Where did Ben sing?", "context": CONTEXT, "answer": "Rome", "answer_start": "30"},
        {"question": "Who sang twice?", "context": CONTEXT, "answer": "", "answer_start": ""},
    ]
    file = table(tmp_path / f"asked.{ending}", rows)
    answered, unanswered = read_questions(file).examples
    assert (answered.question, answered.context) == ("Where did Ben sing?", CONTEXT)
    assert answered.answers == (GivenAnswer("Rome", 30),)
    assert unanswered.answers == ()
    assert [example.answers for example in read_questions(file, labelled=False).examples] == [None, None]


def table(file: Path, rows: list[dict[str, Any]]) -> Path:
    if file.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    elif file.suffix in (".csv", ".tsv"):
        separator = {".csv": ",", ".tsv": "\t"}[file.suffix]
        file.write_text("\n".join(separator.join(cells) for cells in [rows[0], *(row.values() for row in rows)]))
    else:
        lines = [json.dumps(row) for row in rows]
        file.write_text(f"[{','.join(lines)}]" if file.suffix == ".json" else "\n".join(lines))
    return file


def test_answers_as_on_the_hub_and_columns_under_other_names(tmp_path: Path) -> None:
    given = {"text": ["Oslo", "in Oslo"], "answer_start": [12, 9]}
    file = table(tmp_path / "asked.jsonl", [{"query": "Where?", "passage": CONTEXT, "answers": given, "id": 7}])
    [example] = read_questions(file, columns={"question": "query", "context": "passage"}).examples
    assert (example.id, example.answers) == ("7", (GivenAnswer("Oslo", 12), GivenAnswer("in Oslo", 9)))


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        ({"question": "Who?", "answer": "Ann"}, {}, "wanted a column 'context'"),
        ({"question": "Who?", "context": CONTEXT}, {}, "wanted a column 'answer'"),
        (
            {"question": "Who?", "context": CONTEXT, "answer": "Ann", "answer_start": "one"},
            {},
            "line 1, column 'answer_s",
        ),
        ({"question": 3, "context": CONTEXT, "answer": "Ann"}, {}, "line 1, column 'question': a int"),
        ({"question": "Who?", "context": CONTEXT, "answers": {"text": ["Ann"]}}, {}, "line 1, column 'answers'"),
        ({"question": "Who?", "context": CONTEXT, "answer": "Ann"}, {"label": "answer"}, "--columns label=answer"),
    ],
)
def test_faults_of_tables_are_named_by_line_and_column(
    tmp_path: Path, row: dict[str, Any], columns: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_questions(table(tmp_path / "asked.jsonl", [row]), columns=columns)
