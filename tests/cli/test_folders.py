"""The verbs convert and info, as the command runs them."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command import run

from unmask.apps.app_folder import write_app
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

CONFIG = BertConfig(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=64, positions=64)
ORIGIN = {"seed": 3, "settings": {"size": "mini", "clip": 1 / 3}}
PIECES = [*SPECIAL_PIECES, *(f"piece{number}" for number in range(295))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = BertWithHead(Bert(CONFIG), make_head("classes", CONFIG, outputs=2))
    about = About("classes", task="sst2", labels=("bad", "good"), scores={"accuracy": 0.91234567}, provenance=ORIGIN)
    save_model(tmp_path / "model", CONFIG, model, Tokenizer(PIECES, cased=True), about)
    return tmp_path / "model"


def answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(monkeypatch, *arguments, "--json") == 0
    fields: dict[str, Any] = json.loads(capsys.readouterr().out)
    return fields


def same_weights(left: Path, right: Path) -> bool:
    states = [open_model(path).model.state_dict() for path in (left, right)]
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_info_says_what_a_folder_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    fields = answer(monkeypatch, capsys, "info", str(folder))
    assert (fields["head"], fields["task"], fields["labels"]) == ("classes", "sst2", ["bad", "good"])
    assert fields["parameters"] == CONFIG.parameters + 2 * 32 + 2
    assert fields["tokenizer"]["cased"] is True
    assert (fields["scores"], fields["provenance"]) == ({"accuracy": 0.91234567}, ORIGIN)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_info_says_what_the_numbers_are_stored_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, dtype: str
) -> None:
    answer(monkeypatch, capsys, "convert", str(folder), "-o", str(tmp_path / "stored"), "--dtype", dtype)
    assert answer(monkeypatch, capsys, "info", str(tmp_path / "stored"))["stored_in"] == dtype
    assert run(monkeypatch, "info", str(tmp_path / "stored")) == 0
    assert f"stored in {dtype}" in capsys.readouterr().out


def test_info_in_words_has_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert run(monkeypatch, "info", str(folder)) == 0
    words = capsys.readouterr().out
    for said in ("classes", "sst2", "bad, good", "2 layers, width 32", "300 pieces, cased", "0.9123"):
        assert said in words


def test_info_in_words_is_rounded_and_has_a_line_a_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    run(monkeypatch, "info", str(folder))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in ("score accuracy 0.9123", "from settings size mini", "from settings clip 0.3333", "from seed 3"):
        assert row.split() in rows


def test_a_checkpoint_goes_to_tensorflow_and_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    google, back = tmp_path / "google", tmp_path / "back"
    written = answer(monkeypatch, capsys, "convert", str(folder), "-o", str(google), "--to", "tf1")
    assert (written["form"], written["unused"]) == ("tf1", [])
    assert {path.name for path in google.iterdir()} >= {"bert_config.json", "bert_model.ckpt.index", "vocab.txt"}
    answer(monkeypatch, capsys, "convert", str(google / "bert_model.ckpt"), "-o", str(back))
    assert same_weights(folder, back)


def test_an_old_bin_file_becomes_a_folder_that_says_where_it_is_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors") | {"teacher.weight": torch.ones(2)}
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "unmask.json").unlink()
    (folder / "model.safetensors").unlink()
    written = answer(monkeypatch, capsys, "convert", str(folder / "pytorch_model.bin"), "-o", str(tmp_path / "new"))
    assert written["unused"] == ["teacher.weight"]
    assert len(written["used"]) == len(tensors) - 1
    about = open_model(tmp_path / "new").about
    assert about.labels == ("bad", "good")
    assert about.provenance["file"] == "pytorch_model.bin"


def test_float16_halves_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    answer(monkeypatch, capsys, "convert", str(folder), "-o", str(tmp_path / "half"), "--dtype", "float16")
    sizes = [(path / "model.safetensors").stat().st_size for path in (tmp_path / "half", folder)]
    assert sizes[0] < 0.6 * sizes[1]


@pytest.mark.parametrize("verb", [["info"], ["convert", "-o", "out"]])
def test_what_is_no_model_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *verb, "nowhere") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[-1].startswith("unmask: got nowhere, which does not exist")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_converted_to_what_differs_from_its_base_and_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    shared, whole = tmp_path / "shared", tmp_path / "whole"
    answer(monkeypatch, capsys, "convert", str(folder), "-o", str(tmp_path / "base"))
    parts = ("--base", str(tmp_path / "base"), "--checksums")
    written = answer(monkeypatch, capsys, "convert", str(folder), "-o", str(shared), *parts)
    assert written["bytes"] < 10_000
    assert "unmask.json" in (shared / "checksums.txt").read_text()
    told = answer(monkeypatch, capsys, "info", str(shared))
    assert told["base"]["model"] == str((tmp_path / "base").resolve())
    assert run(monkeypatch, "info", str(shared)) == 0
    assert "lends what is not stored here" in capsys.readouterr().out
    answer(monkeypatch, capsys, "convert", str(shared), "-o", str(whole))
    assert same_weights(folder, whole)
    assert (whole / "vocab.txt").read_bytes() == (folder / "vocab.txt").read_bytes()


def test_rows_of_its_own_need_a_base_that_lends_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    assert run(monkeypatch, "convert", str(folder), "-o", str(tmp_path / "out"), "--rows", "5") == 2
    assert "name it with --base" in capsys.readouterr().err


def test_info_says_what_an_applications_folder_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with write_app(tmp_path / "faq", "faq", {"encoder": "default", "entries": 1200}) as temporary:
        (temporary / "entries.jsonl").write_text("{}")
    told = answer(monkeypatch, capsys, "info", str(tmp_path / "faq"))
    assert (told["app"], told["entries"]) == ("faq", 1200)
    assert run(monkeypatch, "info", str(tmp_path / "faq")) == 0
    assert "entries  1,200" in capsys.readouterr().out


def test_info_says_what_a_serving_folder_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    answer(monkeypatch, capsys, "export", str(folder), "-o", str(tmp_path / "served"))
    told = answer(monkeypatch, capsys, "info", str(tmp_path / "served"))
    assert (told["head"], told["labels"], told["engine"]) == ("classes", ["bad", "good"], "onnxruntime")
    assert run(monkeypatch, "info", str(tmp_path / "served")) == 0
    assert "bad, good" in capsys.readouterr().out
