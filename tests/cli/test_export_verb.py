"""`unmask export`, and `predict` and `evaluate` with what it wrote."""

import json
from pathlib import Path

import pytest
from small_models import small_model
from typer.testing import CliRunner

from unmask.cli import build
from unmask.errors import InputError
from unmask.model.folder import save_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    opened = small_model("classes")
    save_model(tmp_path / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    return tmp_path / "model"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "dev.csv"
    path.write_text("text,label\nthe fox,good\nthe lazy dog,bad\nnobody hoped,fair\n")
    return path


def told(*words: object) -> dict[str, object]:
    found = CliRunner().invoke(build(), [*map(str, words), "--json", "--quiet"], catch_exceptions=False)
    return json.loads(found.stdout)  # type: ignore[no-any-return]


def test_exporting_says_size_and_difference(model: Path, tmp_path: Path) -> None:
    fields = told("export", model, "-o", tmp_path / "serving")
    files = [path for path in (tmp_path / "serving").rglob("*") if path.is_file()]
    assert fields["bytes"] == sum(path.stat().st_size for path in files)
    assert 0 <= fields["max_difference"] < 1e-5  # type: ignore[operator]


def test_exporting_int8_says_what_it_costs(model: Path, data: Path, tmp_path: Path) -> None:
    fields = told("export", model, "-o", tmp_path / "serving", "--int8", "--calibrated", "--data", data, "--force")
    assert fields["metric"] == "accuracy"
    assert fields["bytes"] < fields["bytes_before"]  # type: ignore[operator]
    assert {"score_before", "score_after", "kept", "max_difference"} <= fields.keys()


def test_predict_and_evaluate_use_the_exported_model_and_say_so(model: Path, data: Path, tmp_path: Path) -> None:
    told("export", model, "-o", tmp_path / "serving")
    for folder, engine in ((model, "torch"), (tmp_path / "serving", "onnxruntime")):
        found = CliRunner().invoke(build(), ["predict", str(folder), "the fox", "--json"], catch_exceptions=False)
        assert f"engine: {engine}" in found.stderr
    ours, theirs = (told("evaluate", folder, "--data", data) for folder in (tmp_path / "serving", model))
    assert ours["scores"] == theirs["scores"]


def test_a_bad_row_is_an_error_among_the_answers(model: Path, tmp_path: Path) -> None:
    told("export", model, "-o", tmp_path / "serving")
    answers = told("predict", tmp_path / "serving", "the fox", "half \ud83d")["answers"]
    assert "label" in answers[0]  # type: ignore[index]
    assert "surrogate" in answers[1]["error"]  # type: ignore[index]


def test_calibrating_needs_examples(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--data"):
        told("export", model, "-o", tmp_path / "serving", "--int8", "--calibrated")


@pytest.mark.parametrize("ending", ["txt", "csv", "jsonl"])
def test_a_line_that_is_not_utf8_spares_the_others(ending: str, model: Path, tmp_path: Path) -> None:
    told("export", model, "-o", tmp_path / "serving")
    lines = [b"the fox", b"the \xff dog", b"nobody \0 hoped", b"they had"]
    if ending == "csv":
        lines.insert(0, b"text")
    if ending == "jsonl":
        lines = [b'{"text": "' + line.replace(b"\0", b"\\u0000") + b'"}' for line in lines]
    (tmp_path / f"bad.{ending}").write_bytes(b"\n".join(lines) + b"\n")
    answers = told("predict", tmp_path / "serving", "--input", tmp_path / f"bad.{ending}")["answers"]
    assert ["error" in answer for answer in answers] == [False, True, True, False]  # type: ignore[union-attr]
