"""The verbs ask and documents, as the command runs them."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import run

from unmask.apps.document_index import Source, indexed
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PIECES = [*SPECIAL_PIECES, "who", "lit", "the", "lamp", "?", "keeper", "."]


@pytest.fixture
def reader(tmp_path: Path) -> str:
    config = BertConfig(vocabulary_size=len(PIECES), width=8, layers=1, heads=2, feed_forward=8, positions=32)
    model = BertWithHead(Bert(config), make_head("span", config))
    save_model(tmp_path / "reader", config, model, Tokenizer(PIECES), About("span"))
    return str(tmp_path / "reader")


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "log.txt").write_text("The keeper lit the lamp.", encoding="utf-8")
    return str(tmp_path / "log.txt")


def test_ask_gives_the_contracts_json_for_several_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str, log: str
) -> None:
    assert run(monkeypatch, "ask", "Who lit the lamp?", "--in", log, log, "-m", reader, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"answer", "start", "end", "score", "no_answer_probability", "nbest", "source", "sentence"}
    assert told["answer"] == "The keeper lit the lamp."[told["start"] : told["end"]]
    assert told["source"] == log


def test_ask_in_words_shows_the_answer_and_where_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str, log: str
) -> None:
    assert run(monkeypatch, "ask", "Who lit the lamp?", "--in", log, "-m", reader) == 0
    first, sentence, second, *_ = capsys.readouterr().out.splitlines()
    assert sentence == "  The keeper lit the lamp."
    assert second.endswith(first.split("  (")[0])
    assert "log.txt, characters " in second


def test_an_index_is_made_updated_and_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str, log: str, tmp_path: Path
) -> None:
    def told(*arguments: str) -> dict[str, Any]:
        assert run(monkeypatch, *arguments, "--json") == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    notes, index = tmp_path / "notes", str(tmp_path / "index")
    notes.mkdir()
    (notes / "a.txt").write_text("The lamp.")
    (notes / "torn.pdf").write_bytes(b"torn")
    made = told("documents", "index", str(notes), "-o", index, "--reader", reader)
    assert (made["files"], made["passages"], made["added"]) == (1, 1, [str(notes / "a.txt")])
    assert made["unread"][0]["file"] == str(notes / "torn.pdf")
    (notes / "b.html").write_text("<p>The keeper lit the lamp.</p>")
    after = told("documents", "update", index, log)
    assert [Path(name).name for name in after["added"]] == ["b.html", "log.txt"]
    assert told("documents", "update", index)["added"] == []
    answer = told("ask", "Who lit the lamp?", "--in", index)
    assert Path(answer["source"]).name in ("a.txt", "b.html", "log.txt")
    assert told("documents", "text", str(notes / "b.html"))["text"] == "The keeper lit the lamp."


def test_an_unread_file_is_noted_and_the_others_are_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str, log: str, tmp_path: Path
) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    assert run(monkeypatch, "ask", "Who?", "--in", log, str(tmp_path / "latin.txt"), "-m", reader) == 0
    assert "not read: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "Who?", "--in", "away.txt"], "no file or folder away.txt"),
        (["ask", " ", "--in", "away.txt"], "an empty question"),
        (["ask", "Who?", "--in", "{empty}"], "no texts in"),
        (["ask", "Who?", "--in", "{empty}/a.bin"], "wanted files that end in .txt"),
        (["ask", "Who?", "--in", "{index}", "{log}"], "an index among other documents"),
        (["documents", "index", "{log}", "-o", "{reader}"], "holds other things"),
        (["documents", "update", "{empty}"], "wanted a folder of the application 'documents'"),
        (["documents", "text", "{empty}/latin.txt"], "is not UTF-8"),
    ],
)
def test_bad_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reader: str,
    log: str,
    tmp_path: Path,
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "empty").mkdir()
    if "/" in arguments[-1]:
        (tmp_path / "empty" / "a.bin").write_bytes(b"\0")
        (tmp_path / "empty" / "latin.txt").write_bytes(b"caf\xe9")
    places = {"empty": tmp_path / "empty", "index": tmp_path / "index", "log": log, "reader": reader}
    indexed([Source.of(Path(log))])[0].save(tmp_path / "index")
    capsys.readouterr()
    assert run(monkeypatch, *[argument.format(**places) for argument in arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
