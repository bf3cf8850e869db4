"""The verbs finetune, predict and evaluate, as a user meets them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from unmask.cli import build
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = ("warm", "cold", "the", "soup", "is", "tea")


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    config = BertConfig(vocabulary_size=len(WORDS) + 5, width=32, layers=2, heads=2, feed_forward=64, positions=32)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer([*SPECIAL_PIECES, *WORDS]), About())
    return tmp_path / "encoder"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"the {thing} is {how},{how}" for how in ("warm", "cold") for thing in ("soup", "tea")] * 4
    path = tmp_path / "table.csv"
    path.write_text("dish,feeling\n" + "\n".join(rows) + "\n")
    return path


def run(*words: Any) -> Result:
    result = CliRunner().invoke(build(), [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def learned(encoder: Path, table: Path, folder: Path, *more: str) -> dict[str, Any]:
    columns = "text=dish,label=feeling"
    told = run(
        *("finetune", "classify", "-m", encoder, "--train", table, "--dev", table, "--columns", columns, "-o", folder),
        *("--epochs", 15, "--lr", 3e-3, "--batch-size", 8, "--json", "--quiet", *more),
    )
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_a_table_becomes_a_model_that_predicts_and_is_measured(encoder: Path, table: Path, tmp_path: Path) -> None:
    fields = learned(encoder, table, tmp_path / "feeling")
    assert {"folder", "task", "metric", "score", "seconds", "examples_per_second"} <= fields.keys()
    assert (fields["metric"], fields["score"]) == ("accuracy", 1.0)
    told = run("predict", tmp_path / "feeling", "the tea is cold", "the soup is warm", "--quiet")
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert [answer["label"] for answer in answers] == ["cold", "warm"]
    assert sum(answers[0]["probabilities"].values()) == pytest.approx(1)
    measured = run(
        "evaluate", tmp_path / "feeling", "--data", table, "--columns", "text=dish,label=feeling", "--json", "--quiet"
    )
    fields = json.loads(measured.stdout)
    assert (fields["task"], fields["metric"], fields["score"], fields["examples"]) == ("classify", "accuracy", 1.0, 16)


def test_a_file_is_answered_line_by_line(encoder: Path, table: Path, tmp_path: Path) -> None:
    learned(encoder, table, tmp_path / "feeling")
    (tmp_path / "texts.txt").write_text("the soup is warm\nthe soup is cold\n")
    told = run("predict", tmp_path / "feeling", "--input", tmp_path / "texts.txt", "--json", "--quiet")
    assert [answer["label"] for answer in json.loads(told.stdout)["answers"]] == ["warm", "cold"]


def test_bad_input_is_named(encoder: Path, table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="columns 'dish', 'feeling'"):
        run("finetune", "classify", "-m", encoder, "--train", table, "-o", tmp_path / "x", "--quiet")
    with pytest.raises(InputError, match="or a preset: cola"):
        run("finetune", "guess", "-m", encoder, "--train", table, "-o", tmp_path / "x", "--quiet")
    with pytest.raises(InputError, match="not fine-tuned"):
        run("predict", encoder, "the soup")
    one = tmp_path / "one.csv"
    one.write_text("text,label\nwarm,yes\ncold,yes\n")
    with pytest.raises(InputError, match="the one label 'yes'"):
        run("finetune", "classify", "-m", encoder, "--train", one, "-o", tmp_path / "x", "--quiet")


def test_embeddings_are_not_moved_the_other_way(encoder: Path, table: Path, tmp_path: Path) -> None:
    told = run("finetune", "classify", "-m", encoder, "--train", table, "-o", tmp_path / "x", "--adversarial", "-1")
    assert told.exit_code == 2
    assert not (tmp_path / "x").exists()


def test_a_file_in_place_of_the_folder_is_noticed_before_anything_is_read(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(InputError, match="taken, a file; wanted a folder"):
        run("finetune", "classify", "-m", encoder, "--train", tmp_path / "none.csv", "-o", tmp_path / "taken")


def test_a_folder_in_place_of_a_file_of_examples_is_named(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder; wanted a file"):
        run("finetune", "classify", "-m", encoder, "--train", tmp_path, "-o", tmp_path / "new")


def test_a_model_of_renamed_labels_is_measured_on_a_public_set(encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "CoLA"
    folder.mkdir()
    for part in ("train", "dev"):
        rows = [
            f"s\t{label}\t\tthe {thing} is {how}"
            for thing in ("soup", "tea")
            for label, how in ((0, "cold"), (1, "warm"))
        ]
        (folder / f"{part}.tsv").write_text("\n".join(rows * 4) + "\n")
    given = (f"cola={folder}", "--rename", "0=wrong,1=right")
    run(
        *("finetune", "classify", "-m", encoder, "--train", *given, "-o", tmp_path / "model"),
        *("--epochs", 15, "--lr", 3e-3, "--batch-size", 8, "--quiet"),
    )
    fields = json.loads(run("evaluate", tmp_path / "model", "--data", *given, "--json", "--quiet").stdout)
    assert (fields["metric"], fields["score"], fields["examples"]) == ("matthews", 1.0, 16)


def test_texts_may_have_several_labels(encoder: Path, tmp_path: Path) -> None:
    rows = [f"the {thing} is {how},{how}|{thing}" for how in ("warm", "cold") for thing in ("soup", "tea")] * 4
    (tmp_path / "table.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    told = run(
        *("finetune", "classify", "-m", encoder, "--train", tmp_path / "table.csv", "--dev", tmp_path / "table.csv"),
        *("-o", tmp_path / "both", "--multi-label", "--epochs", 60, "--lr", 5e-3, "--batch-size", 8),
        *("--json", "--quiet"),
    )
    fields = json.loads(told.stdout)
    assert fields["metric"] == "micro_f1"
    assert fields["score"] > 0.9
    answer = json.loads(run("predict", tmp_path / "both", "the tea is cold", "--quiet").stdout)
    assert sorted(answer["labels"]) == ["cold", "tea"]
    measured = run("evaluate", tmp_path / "both", "--data", tmp_path / "table.csv", "--json", "--quiet")
    assert json.loads(measured.stdout)["score"] == fields["score"]
    with pytest.raises(InputError, match="--multi-label with regress"):
        run(
            "finetune",
            "regress",
            "-m",
            encoder,
            "--train",
            tmp_path / "table.csv",
            "-o",
            tmp_path / "x",
            "--multi-label",
        )
