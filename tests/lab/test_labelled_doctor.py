"""The doctor of labelled examples, alone and as the command runs it."""

import json
from pathlib import Path

import pytest

from unmask import cli
from unmask.data.examples import TextExample
from unmask.data.overview import overview
from unmask.lab.labelled_doctor import diagnose_labelled


def examples(count: int, label: str) -> list[TextExample]:
    return [TextExample(f"{label} text {number}", label=label) for number in range(count)]


def names(train: list[TextExample], dev: list[TextExample] | None = None) -> dict[str, str]:
    return {found.name: found.severity for found in diagnose_labelled(overview(train, dev or []))}


def test_a_good_set_is_healthy() -> None:
    assert names(examples(30, "a") + examples(30, "b"), [TextExample("new", label="b")]) == {}


def test_faults_are_found() -> None:
    train = examples(300, "a") + examples(5, "b")
    assert names(train) == {"rare labels": "hint", "uneven labels": "hint"}
    assert names([*train, TextExample("A text 1!", label="b")])["contradictions"] == "hint"
    assert names(train * 2)["repeats"] == "hint"
    assert names(train, train[:3])["leakage"] == "warning"
    assert names(train, [TextExample("new", label="c")])["unseen labels"] == "error"


def test_the_command_says_what_train_and_dev_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.csv").write_text("text,label\nSo good,good\nSo bad,bad\n")
    (tmp_path / "dev.csv").write_text("text,label\nso good!,good\nmeh,bad\n")
    files = [str(tmp_path / "train.csv"), "--dev", str(tmp_path / "dev.csv")]
    for more in (["--json"], []):
        monkeypatch.setattr("sys.argv", ["unmask", "doctor", *files, "--quiet", *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
    told, _, said = capsys.readouterr().out.partition("\n")
    assert json.loads(told)["nearly_leaked"] == 1
    assert json.loads(told)["findings"][0]["name"] == "leakage"
    assert "1 of 2 dev examples (50.0%) are in train" in said
