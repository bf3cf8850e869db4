"""Folders that share an encoder: they answer as whole folders do, and say what is wrong when their base is gone."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model import named
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.checksums import write_checksums
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.starting_point import with_fresh_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, "ann", "sang", ".", "##s"])
CONFIG = BertConfig(
    vocabulary_size=9, width=32, layers=3, heads=4, feed_forward=64, positions=16, initial_deviation=0.3
)
ABOUT = {
    "classes": About("classes", labels=("bad", "good")),
    "tokens": About("tokens", labels=("O", "B-PER")),
    "span": About("span"),
    "embedding": About("embedding", normalise=True),
}
BATCH = pack([[2, 5, 6, 7, 3], [2, 6, 8, 3]])
SAME = pytest.mark.parametrize("head", ABOUT)
TYPES = pytest.mark.parametrize("dtype", ["float32", "float16"])


@pytest.fixture
def default(tmp_path: Path) -> Path:
    return save_default(tmp_path / "default", "float32")


def save_default(folder: Path, dtype: str, seed: int = 0) -> Path:
    model = BertWithHead(Bert(CONFIG, seed), make_head("pretraining", CONFIG))
    save_model(folder, CONFIG, model, TOKENIZER, About("pretraining"), dtype=dtype)
    return folder


def learned(base: Path | str, head: str) -> ModelFolder:
    """A model on a base, as if its last layer and its head had learned; the rest is as it was."""
    opened = open_model(base)
    config, model = with_fresh_head(opened, head, outputs=2)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith(("bert.layers.2.", "bert.pooler.", "head.")):
                parameter.add_(torch.linspace(-0.1, 0.1, parameter.numel()).view(parameter.shape))
    return ModelFolder(config, model, opened.tokenizer, ABOUT[head], opened.report)


def save(folder: Path, made: ModelFolder, **how: Any) -> Path:
    save_model(folder, made.config, made.model, made.tokenizer, made.about, **how)
    return folder


def answers(folder: Path | str) -> torch.Tensor:
    with torch.no_grad():
        said: torch.Tensor = open_model(folder).model(BATCH)
    return said


@SAME
@TYPES
def test_a_shared_folder_answers_as_a_whole_one(tmp_path: Path, head: str, dtype: str) -> None:
    base = save_default(tmp_path / "default", dtype)
    made = learned(base, head)
    shared = save(tmp_path / "shared", made, base=base, dtype=dtype)
    whole = save(tmp_path / "whole", made, dtype=dtype)
    assert torch.equal(answers(shared), answers(whole))
    assert open_model(shared).config == open_model(whole).config
    assert open_model(shared).about == open_model(whole).about
    assert open_model(shared).report.unused == ()


def test_only_what_differs_is_stored_and_no_vocabulary(tmp_path: Path, default: Path) -> None:
    shared = save(tmp_path / "shared", learned(default, "classes"), base=default)
    stored = load_file(shared / "model.safetensors")
    assert {name.split(".layer.")[-1][:1] for name in stored if ".layer." in name} == {"2"}
    assert not any("embeddings" in name for name in stored)
    assert {"classifier.weight", "bert.pooler.dense.weight"} <= stored.keys()
    assert not (shared / "vocab.txt").exists()


@SAME
@TYPES
def test_of_word_embeddings_only_rows_that_differ_are_stored(tmp_path: Path, head: str, dtype: str) -> None:
    base = save_default(tmp_path / "default", dtype)
    made = learned(base, head)
    with torch.no_grad():
        made.bert.embeddings.words.weight[[5, 7]] += 1
    shared = save(tmp_path / "shared", made, base=base, dtype=dtype)
    words = {name.split("@")[1]: part for name, part in load_file(shared / "model.safetensors").items() if "@" in name}
    assert words["rows"].tolist() == [5, 7]
    assert words["changed"].shape == (2, CONFIG.width)
    assert torch.equal(answers(shared), answers(save(tmp_path / "whole", made, dtype=dtype)))
    assert open_model(shared).report.unused == ()


def test_only_the_rows_that_moved_farthest_are_stored_where_a_number_is_given(tmp_path: Path, default: Path) -> None:
    made = learned(default, "classes")
    before = made.bert.embeddings.words.weight.detach().clone()
    with torch.no_grad():
        made.bert.embeddings.words.weight[[4, 5, 7]] += torch.tensor([[2.0], [0.1], [1.0]])
    opened = open_model(save(tmp_path / "shared", made, base=default, base_rows=2))
    kept = opened.bert.embeddings.words.weight
    assert torch.equal(kept[[4, 7]], made.bert.embeddings.words.weight[[4, 7]])
    assert torch.equal(kept[5], before[5])


@SAME
def test_what_differs_is_stored_in_int8_where_that_is_asked_for(tmp_path: Path, head: str) -> None:
    base = save_default(tmp_path / "default", "float16")
    made = learned(base, head)
    with torch.no_grad():
        made.bert.embeddings.words.weight[[5, 7]] += torch.randn(2, CONFIG.width) / 50
        for weight in made.bert.layers[2].parameters():
            weight += torch.randn_like(weight) / 50
    before = open_model(base).bert.state_dict()
    exact, rounded = (save(tmp_path / dtype, made, base=base, dtype=dtype) for dtype in ("float16", "int8"))
    opened, wanted = open_model(rounded), made.bert.state_dict()
    assert opened.report.unused == ()
    for name, value in opened.bert.state_dict().items():
        change = (wanted[name] - before[name]).abs().max() if name in before else torch.tensor(0.0)
        nearly = 0.01 * change + 0.001  # 1/254 of a row's greatest, and float16
        assert (value - wanted[name]).abs().max() <= nearly, name
    stored = load_file(rounded / "model.safetensors")
    assert {part.dtype for name, part in stored.items() if name.endswith("@steps")} == {torch.int8}
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (exact, rounded)]
    assert sizes[1] < 0.8 * sizes[0]


def test_a_whole_float32_base_lends_what_a_float16_folder_does_not_store(tmp_path: Path, default: Path) -> None:
    made = learned(default, "span")
    opened = open_model(save(tmp_path / "shared", made, base=default, dtype="float16"))
    assert torch.equal(opened.bert.layers[0].qkv.weight, made.bert.layers[0].qkv.weight)
    assert torch.equal(opened.bert.layers[2].qkv.weight, made.bert.layers[2].qkv.weight.half().float())


def test_a_shared_folder_saved_anew_is_whole(tmp_path: Path, default: Path) -> None:
    shared = save(tmp_path / "shared", learned(default, "tokens"), base=default)
    whole = save(tmp_path / "whole", open_model(shared))
    expected = answers(shared)
    shutil.rmtree(default)
    assert torch.equal(answers(whole), expected)
    assert "transformers opens it" in (whole / "README.md").read_text()


def test_a_whole_folder_saved_anew_on_a_base_has_no_vocabulary_left(tmp_path: Path, default: Path) -> None:
    made = learned(default, "classes")
    folder = save(tmp_path / "model", made)
    expected = answers(folder)
    save(folder, made, base=default)
    assert not (folder / "vocab.txt").exists()
    assert torch.equal(answers(folder), expected)
    assert "needs it to be opened" in (folder / "README.md").read_text()


def test_another_vocabulary_than_the_bases_is_kept(tmp_path: Path, default: Path) -> None:
    cased = replace(learned(default, "classes"), tokenizer=Tokenizer(TOKENIZER.pieces, cased=True))
    assert open_model(save(tmp_path / "shared", cased, base=default)).tokenizer.cased


def test_a_missing_or_replaced_base_is_named(tmp_path: Path, default: Path) -> None:
    shared = save(tmp_path / "shared", learned(default, "classes"), base=default)
    save_default(default, "float32", seed=1)
    with pytest.raises(InputError, match=r"whose base .*default is another than it was made on; wanted weights of SHA"):
        open_model(shared)
    shutil.rmtree(default)
    with pytest.raises(InputError, match=r"lacks its base .*default, which does not exist"):
        open_model(shared)


def test_a_base_with_another_vocabulary_is_named(tmp_path: Path, default: Path) -> None:
    shared = save(tmp_path / "shared", learned(default, "classes"), base=default)
    Tokenizer([*TOKENIZER.pieces[:-1], "dog"]).save(default)
    with pytest.raises(InputError, match="another vocabulary than it was made with"):
        open_model(shared)


def test_what_can_be_no_base_is_refused(tmp_path: Path, default: Path) -> None:
    made = learned(default, "classes")
    shared = save(tmp_path / "shared", made, base=default)
    with pytest.raises(InputError, match="which has a base itself"):
        save(tmp_path / "further", made, base=shared)
    with pytest.raises(InputError, match="a model on this machine"):
        save(tmp_path / "further", made, base="hf:bert-base-uncased")
    with pytest.raises(InputError, match="as its own base"):
        save(default, made, base=default)
    (shared / "unmask.json").write_text('{"format": 1, "base": {"model": "default"}}')
    with pytest.raises(InputError, match="wanted its model and sha256"):
        open_model(shared)


def test_embedded_heads_stand_on_the_embedded_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "EMBEDDED", tmp_path)
    with pytest.raises(InputError, match="'default:sentiment', which this installation lacks"):
        open_model("default:sentiment")
    with pytest.raises(InputError, match="'default:poems'; wanted default, default:sentiment"):
        open_model("default:poems")
    write_checksums(save_default(tmp_path / "default", "float16"))
    for name, head in {"sentiment": "classes", "entities": "tokens", "answers": "span"}.items():
        made = learned("default", head)
        write_checksums(save(tmp_path / name, made, base="default", dtype="float16"))
        opened = open_model(f"default:{name}")
        assert (opened.about.head, opened.base and opened.base.model) == (head, "default")
    assert 'unmask.load("default:sentiment")' in (tmp_path / "sentiment" / "README.md").read_text()
    (tmp_path / "sentiment" / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"config.json, which is damaged"):
        open_model("default:sentiment")
