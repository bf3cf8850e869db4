"""The verb `doctor`, as the command runs it: text, a store and a run."""

import json
from pathlib import Path

import pytest
from command import run

from unmask.data.prepare import prepare
from unmask.tasks.pretraining import PretrainingSettings
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "pets.txt"
    path.write_text("".join(f"A dog ran to cat {n}.\nIt sat by {n} rivers.\n\n" for n in range(120)))
    return path


def test_text_is_looked_at(text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "doctor", text, "--json", "--quiet") == 0
    fields = json.loads(capsys.readouterr().out)
    assert [finding["name"] for finding in fields["findings"]] == ["little text"]
    assert set(fields["findings"][0]) == {"name", "severity", "seen", "do"}
    assert fields["healthy"] is False
    assert (fields["documents"], fields["sentences"]) == (120, 240)
    assert run(monkeypatch, "doctor", text) == 0
    said = capsys.readouterr().out
    assert "documents: 120" in said
    assert "warning: little text" in said


def test_a_store_is_looked_at(text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["a", "dog", "ran", "to", "cat", "it", "sat", "by", "rivers", "."]
    pieces = [*SPECIAL_PIECES, *words, *"0123456789", *(f"##{digit}" for digit in range(10))]
    prepare([text], text.parent / "store", Tokenizer(pieces))
    assert run(monkeypatch, "doctor", text.parent / "store", "--json") == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["healthy"] is True
    assert fields["unknown_rate"] == 0
    assert run(monkeypatch, "doctor", text.parent / "store") == 0
    assert "healthy: nothing was found" in capsys.readouterr().out


def test_a_run_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.json").write_text(PretrainingSettings(steps=50, objective="mlm").to_json())
    events = [{"step": n + 1, "tokens": 9, "mlm_loss": 5.0 - n / 50, "gradient_norm": 1.0} for n in range(40)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert run(monkeypatch, "doctor", tmp_path, "--json") == 0
    fields = json.loads(capsys.readouterr().out)
    assert [finding["name"] for finding in fields["findings"]] == ["unfinished"]
    assert fields["steps"] == 40


def test_a_path_that_does_not_exist_is_status_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "doctor", tmp_path / "nothing") == 2
