"""The application of a folder, by the head that stands in it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unmask.apps.answer import AnswerFinder
from unmask.apps.features import Features
from unmask.apps.fill import Filler
from unmask.apps.following import Following
from unmask.apps.load import load
from unmask.apps.predict import Predictor
from unmask.apps.tag import EntityFinder
from unmask.apps.vectors import TextEncoder
from unmask.compress.export import export
from unmask.model.about import About
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer

LABELS = {"classes": ("bad", "good"), "tokens": ("O", "B-PER"), "tags_crf": ("O", "B-PER")}


def save(folder: Path, model: BertWithHead, tokenizer: Tokenizer, head: str | None) -> Path:
    config = model.bert.config
    fresh = model.bert if head is None else BertWithHead(model.bert, make_head(head, config, outputs=2))
    save_model(folder, config, fresh, tokenizer, About(head, labels=LABELS.get(head or "", ())))
    return folder


@pytest.mark.parametrize(
    ("head", "app"),
    [
        ("pretraining", Filler),
        ("masked_words", Filler),
        ("next_sentence", Following),
        ("embedding", TextEncoder),
        (None, Features),
        ("classes", Predictor),
        ("regression", Predictor),
        ("choice", Predictor),
        ("tokens", EntityFinder),
        ("tags_crf", EntityFinder),
        ("span", AnswerFinder),
    ],
)
def test_the_head_decides(
    tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer, head: str | None, app: type
) -> None:
    assert isinstance(load(save(tmp_path / "model", model, tokenizer, head)), app)


def test_fine_tuned_folders_answer_texts(tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer) -> None:
    classify = load(save(tmp_path / "classes", model, tokenizer, "classes"))
    assert classify("the cat sat.").label in ("bad", "good")
    assert [answer.label for answer in classify(["the cat sat."])] == [classify("the cat sat.").label]
    find = load(save(tmp_path / "span", model, tokenizer, "span"))
    assert find("who sat?", "the cat sat.").answer in "the cat sat."
    assert len(load(save(tmp_path / "tokens", model, tokenizer, "tokens"))("the cat sat.").tags) == 4


def test_an_embedding_model_gives_the_vectors_it_was_taught_exported_or_not(
    tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer
) -> None:
    config, texts = model.bert.config, ["the cat sat.", "a dog"]
    embedding = BertWithHead(model.bert, make_head("embedding", config))
    for normalise in (True, False):
        folder, serving = tmp_path / f"model-{normalise}", tmp_path / f"serving-{normalise}"
        save_model(folder, config, embedding, tokenizer, About("embedding", pooling="mean", normalise=normalise))
        export(open_model(folder), serving)
        ours, exported = load(folder)(texts).vectors, load(serving)(texts).vectors
        np.testing.assert_allclose(ours, exported, atol=1e-5)
        assert np.allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5) == normalise
        np.testing.assert_allclose(ours[:1], load(folder)(texts[0]).to_dict()["vectors"], atol=1e-6)


def test_an_exported_reader_is_asked_as_its_model_is(tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer) -> None:
    folder = save(tmp_path / "span", model, tokenizer, "span")
    export(open_model(folder), tmp_path / "serving")
    given = ("who sat?", "the cat sat.")
    assert load(tmp_path / "serving")(*given).answer == load(folder)(*given).answer


def test_a_serving_folder_needs_no_torch(tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer) -> None:
    folder = save(tmp_path / "classes", model, tokenizer, "classes")
    export(open_model(folder), tmp_path / "serving")
    expected = load(folder)("the cat sat.").label
    program = (
        "import sys, unmask; answer = unmask.load(sys.argv[1])('the cat sat.'); "
        "assert 'torch' not in sys.modules; print(answer.label)"
    )
    told = subprocess.run([sys.executable, "-c", program, tmp_path / "serving"], capture_output=True, text=True)
    assert (told.stderr, told.stdout.strip()) == ("", expected)


def test_what_was_saved_answers_the_same(tmp_path: Path, model: BertWithHead, tokenizer: Tokenizer) -> None:
    folder = tmp_path / "model"
    save_model(folder, model.bert.config, model, tokenizer, About("pretraining"))
    loaded = load(folder)
    assert isinstance(loaded, Filler)
    assert loaded("the [MASK] sat.") == Filler(model, tokenizer)("the [MASK] sat.")
