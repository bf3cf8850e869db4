"""The benchmark of documents: a reader that knows the texts has full marks, and refuses where they are left out."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import load_script

import unmask
from unmask.data.rows import Row
from unmask.decode.spans import Answered, Span

PROJECT = Path(__file__).resolve().parents[2]
ENGLISH = [  # articles of contexts, each with a question and its answer
    [("ann built the tower", "who built the tower", "ann"), ("eve sold the tower", "who sold the tower", "eve")],
    [("bob steered the ferry", "who steered the ferry", "bob")],
    [("tom baked the bread", "who baked the bread", "tom")],
]
CHINESE = [[("安建塔", "谁建塔", "安")], [("鲍开船", "谁开船", "鲍")]]
EVERY = [one for articles in (ENGLISH, CHINESE) for article in articles for one in article]


@pytest.fixture(scope="module")
def documents() -> ModuleType:
    return load_script("benchmarks/documents.py")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both sets in the layouts in which they are published."""
    place = tmp_path_factory.mktemp("data")
    squad = [{"paragraphs": [paragraph(*one) for one in article]} for article in ENGLISH]
    cmrc = [
        {"context_text": text, "qas": [{"query_text": question, "query_id": "1", "answers": [answer]}]}
        for [(text, question, answer)] in CHINESE
    ]
    cmrc[0]["qas"].append({"query_text": "", "query_id": "2", "answers": ["安"]})  # as in the published file
    for name, whole in (("squad/dev-v1.1.json", {"data": squad}), ("cmrc2018/trial.json", cmrc)):
        (place / name).parent.mkdir()
        (place / name).write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
    return place


def paragraph(text: str, question: str, answer: str) -> dict[str, Any]:
    answers = [{"text": answer, "answer_start": text.index(answer)}]
    return {"context": text, "qas": [{"id": question, "question": question, "answers": answers}]}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model, which has learned by heart which text answers which question."""
    right = {(question, text): answer for text, question, answer in EVERY}
    pairs = [(question, text) for _, question, _ in EVERY for text, _, _ in EVERY] + 3 * [*right]
    learner = unmask.Answerer("default", epochs=14, batch_size=12, learning_rate=5e-4, dropout=0.0, length=32)
    folder = tmp_path_factory.mktemp("reader") / "reader"
    learner.fit(pairs, [right.get(pair) for pair in pairs]).save(folder)
    return folder


@pytest.mark.slow
def test_a_reader_that_knows_the_texts_has_full_marks_and_refuses_without_them(
    documents: ModuleType, data: Path, reader: Path
) -> None:
    for name, count in (("squad", 4), ("cmrc2018", 2)):
        row = documents.measured(name, data, str(reader))
        assert (row["documents"], row["questions"]) == (count, count)
        for part in ("given_the_document", "end_to_end", "end_to_end_never_refusing", "end_to_end_where_found"):
            assert (row[part]["questions"], row[part]["exact"], row[part]["f1"]) == (count, 1.0, 1.0), part
        assert row["recall"] == {"at_1": 1.0, "at_5": 1.0, "at_10": 1.0}
        told = row["not_there"]
        assert (told["said_though_there"], told["said_when_left_out"]) == (0.0, 1.0)
        assert told["auroc_of_margin"] == 1.0


@pytest.mark.slow
def test_the_command_writes_a_row_for_each_set(
    documents: ModuleType, data: Path, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [str(data), str(reader), "--questions", "2", "-o", str(tmp_path / "result.json")]
    monkeypatch.setattr("sys.argv", ["documents.py", *words])
    documents.main()
    told = json.loads((tmp_path / "result.json").read_text())
    assert [(row["set"], row["part"], row["questions"]) for row in told["rows"]] == [
        ("squad", "dev", 2),
        ("cmrc2018", "trial", 2),
    ]


def test_what_is_missing_is_said_in_a_line(
    documents: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("sys.argv", ["documents.py", str(tmp_path), "any", "-o", str(tmp_path / "out.json")])
    with pytest.raises(SystemExit) as ended:
        documents.main()
    assert (ended.value.code, "without a file of squad" in capsys.readouterr().err) == (2, True)


def test_an_article_is_left_out_as_a_whole(documents: ModuleType, data: Path, tmp_path: Path) -> None:
    corpus = documents.laid_out(documents.read_set("squad", data)[1], tmp_path, 100)
    folders = [asked.file.parent for asked in corpus.asked]
    assert folders[0] == folders[1]
    assert len({*folders}) == len(corpus.folders) == 3
    assert [asked.file.read_text() for asked in corpus.asked] == [text for a in ENGLISH for text, _, _ in a]
    assert len(documents.laid_out(documents.read_set("squad", data)[1], tmp_path, 3).asked) == 2


def test_constants_are_tried_on_questions_between_the_measured_ones(
    documents: ModuleType, data: Path, tmp_path: Path
) -> None:
    reading = documents.read_set("squad", data)[1]
    measured, others = (documents.laid_out(reading, tmp_path, 2, halfway=halfway).asked for halfway in (False, True))
    assert [asked.right for asked in measured] == [["ann"], ["bob"]]
    assert [asked.right for asked in others] == [["eve"], ["tom"]]


def test_a_row_is_read_once_however_often_it_is_asked_for(documents: ModuleType) -> None:
    read = list[int]()
    outputs = documents.remembered(lambda rows: [read.append(row.ids[0]) or row.ids[0] for row in rows])
    first, second = Row([1], [0], 0), Row([2], [0], 0)
    assert [outputs([first]), outputs([second, first]), outputs([first])] == [[1], [2, 1], [1]]
    assert read == [1, 2]


def test_refusals_and_confidence_are_counted_on_both_sides(documents: ModuleType) -> None:
    there = [found(documents, "ann", 3.0), found(documents, None, 1.0)]
    gone = [found(documents, None, 2.0), found(documents, None, float("-inf"))]
    told = documents.refusals(there, gone)
    assert (told["said_though_there"], told["said_when_left_out"], told["auroc_of_margin"]) == (0.5, 1.0, 0.75)


def found(documents: ModuleType, answer: str | None, margin: float) -> Any:
    span = Span(answer or "bob", 0, 3, 0.5)
    return documents.Found(Answered(answer, None, None, 0.5, 0.5, (span,), margin), (None,))
