"""A start as the mean: the new layer gives [CLS] the mean in transformers too, and only sentence encoders get one."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

from unmask.data.ragged import pack
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.gathering import LOUDNESS
from unmask.model.heads import BertWithHead, make_head
from unmask.model.starting_point import was_averaged, with_fresh_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh"])
CONFIG = BertConfig(
    vocabulary_size=TOKENIZER.size, width=32, layers=2, heads=4, feed_forward=64, positions=16, initial_deviation=0.3
)
IDS = [[2, 5, 6, 7, 3], [2, 8, 3]]


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    about = About(head="embedding", pooling="mean")
    config = replace(CONFIG, pooler=False)
    model = BertWithHead(Bert(config), make_head("embedding", config))
    save_model(tmp_path / "sentences", config, model, TOKENIZER, about)
    return tmp_path / "sentences"


def test_the_new_layer_gives_the_mean_of_the_layer_below(sentences: Path) -> None:
    config, model = with_fresh_head(open_model(sentences), "classes", mean_start=True)
    assert config.layers == CONFIG.layers + 1
    for ids in IDS:
        layers = model.bert(pack([ids]), keep_layers=True).layers
        expected = layers[-2] + LOUDNESS * layers[-2].mean(0)
        torch.testing.assert_close(layers[-1], torch.nn.functional.layer_norm(expected, (CONFIG.width,)))
    known = open_model(sentences).bert.state_dict()
    assert all(torch.equal(value, known[name]) for name, value in model.bert.state_dict().items() if name in known)


def test_transformers_opens_the_folder_and_says_the_same(sentences: Path, tmp_path: Path) -> None:
    config, model = with_fresh_head(open_model(sentences), "classes", mean_start=True)
    save_model(tmp_path / "classes", config, model, TOKENIZER, About(head="classes", labels=("no", "yes")))
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "classes").eval()
    with torch.no_grad():
        for ids in IDS:
            torch.testing.assert_close(model.eval()(pack([ids])), theirs(torch.tensor([ids])).logits)


def test_what_heads_look_at_can_be_learned(sentences: Path) -> None:
    _, model = with_fresh_head(open_model(sentences), "classes", mean_start=True)
    model(pack(IDS)).square().sum().backward()
    gradient = model.bert.layers[-1].qkv.weight.grad
    assert gradient is not None
    assert gradient[: CONFIG.width].abs().max() > 0


@pytest.mark.parametrize(
    ("about", "head", "averaged"),
    [
        (About(head="embedding", pooling="mean"), "classes", True),
        (About(head="embedding", pooling="cls"), "classes", False),
        (About(head="embedding", pooling="mean"), "tokens", False),
        (About(), "classes", False),
    ],
)
def test_only_what_was_trained_by_the_mean_starts_as_it(
    sentences: Path, about: About, head: str, averaged: bool
) -> None:
    assert was_averaged(replace(open_model(sentences), about=about), head) is averaged
