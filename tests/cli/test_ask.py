"""The verb ask, as the command runs it."""

import json
from pathlib import Path

import pytest

from unmask import cli
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


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["unmask", "ask", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_ask_gives_the_contracts_json_for_several_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str, log: str
) -> None:
    assert run(monkeypatch, "Who lit the lamp?", "--in", log, log, "-m", reader, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"answer", "start", "end", "score", "no_answer_probability", "nbest", "source"}
    assert told["answer"] == "The keeper lit the lamp."[told["start"] : told["end"]]
    assert told["source"] == log


def test_ask_in_words_shows_the_answer_and_where_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str, log: str
) -> None:
    assert run(monkeypatch, "Who lit the lamp?", "--in", log, "-m", reader) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert second.endswith(first.split("  (")[0])
    assert "log.txt, characters " in second


def test_a_file_that_is_not_there_is_the_users_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reader: str
) -> None:
    assert run(monkeypatch, "Who?", "--in", "away.txt", "-m", reader) == 2
    assert "no file away.txt" in capsys.readouterr().err
