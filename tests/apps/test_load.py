"""The application of a folder, by the head that stands in it."""

from pathlib import Path

import pytest

from unmask.apps.features import Features
from unmask.apps.fill import Filler
from unmask.apps.following import Following
from unmask.apps.load import load
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer


def save(folder: Path, model: BertWithHead, tokenizer: Tokenizer, head: str | None) -> Path:
    config = model.bert.config
    fresh = model.bert if head is None else BertWithHead(model.bert, make_head(head, config))
    save_model(folder, config, fresh, tokenizer, About(head))
    return folder


@pytest.mark.parametrize(
    ("head", "app"),
    [
        ("pretraining", Filler),
        ("masked_words", Filler),
        ("next_sentence", Following),
        ("embedding", Features),
        (None, Features),
    ],
)
def test_the_head_decides(
    tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer, head: str | None, app: type
) -> None:
    assert isinstance(load(save(tmp_path / "model", model, tokenizer, head)), app)


def test_a_head_without_an_application_is_refused(tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="the head 'span'; wanted"):
        load(save(tmp_path / "model", model, tokenizer, "span"))


def test_what_was_saved_answers_the_same(tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer) -> None:
    folder = tmp_path / "model"
    save_model(folder, model.bert.config, model, tokenizer, About("pretraining"))
    loaded = load(folder)
    assert isinstance(loaded, Filler)
    assert loaded("the [MASK] sat.") == Filler(model, tokenizer)("the [MASK] sat.")
