"""The verb explain, as the command runs it."""

import json
from pathlib import Path

import pytest
from command import run
from small_models import small_model

from unmask.model.folder import save_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    opened, folder = small_model("classes"), tmp_path_factory.mktemp("models") / "judge"
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    return str(folder)


def test_words_scores_and_faithfulness_are_told(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "why.html"
    assert run(monkeypatch, "explain", folder, "the fox was lazy", "--target", "good", "--html", page, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["label"] == "good"
    assert told["tokens"] == ["the", "fox", "was", "lazy"]
    assert "Why good?" in page.read_text(encoding="utf-8")


def test_people_see_the_text_and_a_verdict(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "explain", folder, "the fox", "--pair", "was lazy", "--method", "erasure", "--quiet") == 0
    said = capsys.readouterr().out
    assert said.startswith("the fox\nwas lazy\n")
    assert "faithfulness: " in said


def test_counterfactuals_and_nearest_examples_are_told_and_shown(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    proposer, opened = tmp_path / "words", small_model("pretraining")
    save_model(proposer, opened.config, opened.model, opened.tokenizer, opened.about)
    train, page = tmp_path / "train.csv", tmp_path / "why.html"
    train.write_text("review,label\nthe fox was lazy,good\nnobody had hoped,bad\n")
    more = ["--counterfactual", "--proposer", str(proposer), "--nearest", str(train), "--columns", "text=review"]
    assert run(monkeypatch, "explain", folder, "the fox was lazy", *more, "--html", str(page), "--json", "--quiet") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["nearest"]["rows"][0]["same"] is True
    assert told["counterfactuals"]["label"] == told["label"]
    assert told["counterfactuals"]["tried"] > 0
    assert "What would change it?" in page.read_text(encoding="utf-8")
    assert "Nearest training examples" in page.read_text(encoding="utf-8")


def test_an_unknown_method_is_one_line_and_status_2(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "explain", folder, "the fox", "--method", "dice") == 2
    assert "wanted ig, gradient, erasure, shapley, attention" in capsys.readouterr().err
