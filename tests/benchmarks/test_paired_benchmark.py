"""The paired benchmark: without dropout both sides learn the same; rows are kept; intervals are what they say."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scripts import load_script

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PROJECT = Path(__file__).resolve().parents[2]
GOOD, BAD = ("good", "fine", "lovely"), ("bad", "dull", "awful")
NOUNS = ("day", "walk", "day and walk")
WORDS = [word for both in zip(GOOD, BAD, strict=True) for word in both]
TEXTS = [(f"the {noun} was {word}", int(word in GOOD)) for noun in NOUNS for word in WORDS]


@pytest.fixture(scope="module")
def paired() -> ModuleType:
    return load_script("benchmarks/paired.py")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    tables = {
        "SST-2": "sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in TEXTS),
        "MRPC": "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        + "".join(f"{label}\t1\t2\t{text}\tthe walk was good\n" for text, label in TEXTS),
    }
    for name, table in tables.items():
        folder = tmp_path / "data" / "glue" / name
        folder.mkdir(parents=True)
        for part in ("train", "dev"):
            (folder / f"{part}.tsv").write_text(table)
    return tmp_path / "data"


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    pieces = [*SPECIAL_PIECES, *GOOD, *BAD, "the", "day", "was", "walk", "and"]
    shape = {"width": 32, "layers": 2, "heads": 2, "feed_forward": 64, "positions": 32}
    config = BertConfig(vocabulary_size=len(pieces), **shape, initial_deviation=0.2)
    save_model(tmp_path / "encoder", config, Bert(config), Tokenizer(pieces), About())
    return tmp_path / "encoder"


def ask(monkeypatch: pytest.MonkeyPatch, data: Path, encoder: Path, *more: Any) -> None:
    """Makes it the command line."""
    flags = ("--examples", 12, "--epochs", 10, "--batch-size", 5, "--learning-rate", 2e-3, "--work", data / "work")
    words = ("paired", data, "-o", data / "result.json", "-m", encoder, *flags, *more)
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])


def run(paired: ModuleType, monkeypatch: pytest.MonkeyPatch, data: Path, encoder: Path, *more: Any) -> dict[str, Any]:
    ask(monkeypatch, data, encoder, *more)
    paired.main()
    found: dict[str, Any] = json.loads((data / "result.json").read_text())
    return found


def test_without_dropout_both_sides_come_to_the_same_weights(
    paired: ModuleType, monkeypatch: pytest.MonkeyPatch, data: Path, encoder: Path
) -> None:
    ask(monkeypatch, data, encoder, "--dropout", 0)
    given = paired.parse()
    ours, theirs = (learn(paired.prepared("mrpc", 3, given, data / name)) for name, learn in paired.SIDES.items())
    assert np.ptp(np.stack(ours)[:, 1]) > 0.1, "a model that says one thing proves little"
    np.testing.assert_allclose(np.stack(ours), np.stack(theirs), atol=1e-3)


def test_rows_of_both_sides_are_compared_and_kept(
    paired: ModuleType, monkeypatch: pytest.MonkeyPatch, data: Path, encoder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(paired, monkeypatch, data, encoder, "--dropout", 0, "--seeds", 0, 1)
    assert [(row["set"], row["seed"], row["side"]) for row in found["rows"]] == [
        (name, seed, side) for name in ("sst2", "mrpc") for seed in (0, 1) for side in ("ours", "theirs")
    ]
    for ours, theirs in zip(found["rows"][::2], found["rows"][1::2], strict=True):
        assert ours["given"] == theirs["given"]
    assert [pair["metric"] for pair in found["pairs"]] == ["accuracy", "f1"]
    assert all(pair["mean"] == 0 and pair["over_seeds"] == pair["over_examples"] == [0, 0] for pair in found["pairs"])
    capsys.readouterr()
    again = run(paired, monkeypatch, data, encoder, "--dropout", 0, "--seeds", 0, 1)
    assert again == found
    assert capsys.readouterr().out == ""  # no row was run a second time
    with pytest.raises(SystemExit, match="choose another file"):
        run(paired, monkeypatch, data, encoder, "--dropout", 0.1)


def test_the_intervals_hold_the_mean_and_widen_with_the_spread(paired: ModuleType) -> None:
    low, high = paired.over_seeds([0.01, 0.02, 0.03])
    assert (round(low, 4), round(high, 4)) == (-0.0048, 0.0448)  # 4.303 * 0.01 / sqrt(3) on either side of 0.02
    assert paired.over_seeds([0.01]) is None
    rows = [
        {"seed": 0, "side": "ours", "scores": {"accuracy": 0.9}, "given": "1" * 90 + "0" * 10},
        {"seed": 0, "side": "theirs", "scores": {"accuracy": 0.8}, "given": "1" * 80 + "0" * 20},
    ]
    told = paired.summary("sst2", rows, ["1"] * 100)
    low, high = told["over_examples"]
    assert told["mean"] == pytest.approx(0.1)
    assert 0.03 < low < 0.07  # ten of a hundred examples differ: 0.1 +- 1.96 * 0.03
    assert 0.13 < high < 0.17
