"""Texts become the same unit vectors whichever folder of a model is asked, and a model is known by its files."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from small_models import small_model

from unmask.apps.features import Features
from unmask.apps.vectors import BLOCK, TextVectors
from unmask.compress.export import export
from unmask.errors import InputError
from unmask.model.folder import ModelFolder, save_model

TEXTS = ["the quick brown fox", "nobody had hoped for it", "我们 明天", "", "the lazy dog was not ok " * 9]


def saved(opened: ModelFolder, folder: Path) -> Path:
    save_model(folder, opened.config, opened.model, opened.tokenizer, opened.about)
    return folder


@pytest.mark.parametrize("head", [None, "embedding", "pretraining", "masked_words"])
def test_vectors_are_the_mean_of_all_tokens_with_length_one(head: str | None, tmp_path: Path) -> None:
    opened = small_model(head)
    vectors = TextVectors(saved(opened, tmp_path / "model"))(TEXTS)
    means = Features(opened.model, opened.tokenizer)(TEXTS).vectors
    np.testing.assert_allclose(vectors, means / np.linalg.norm(means, axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_an_embedding_model_is_read_as_sentence_transformers_does(pooling: str, tmp_path: Path) -> None:
    folder = saved(small_model("embedding", pooling=pooling, normalise=True), tmp_path / "model")
    theirs = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    vectors = TextVectors(folder)
    assert vectors.taught
    np.testing.assert_allclose(vectors(TEXTS), theirs, atol=1e-5)


@pytest.mark.parametrize("head", [None, "embedding"])
def test_a_serving_folder_gives_the_same_vectors(head: str | None, tmp_path: Path) -> None:
    opened = small_model(head)
    folder = saved(opened, tmp_path / "model")
    served = TextVectors(export(opened, tmp_path / "served").folder)
    np.testing.assert_allclose(served(TEXTS), TextVectors(folder)(TEXTS), atol=1e-5)
    assert served.width == 32


def test_any_number_of_texts_comes_back_in_order_and_is_counted(tmp_path: Path) -> None:
    vectors = TextVectors(saved(small_model(None), tmp_path / "model"))
    texts = [TEXTS[number % 3] for number in range(BLOCK + 5)]
    told: list[tuple[int, int]] = []
    found = vectors(texts, report=lambda done, total: told.append((done, total)))
    np.testing.assert_allclose(found, vectors(TEXTS[:3])[np.arange(len(texts)) % 3], atol=1e-5)
    assert told == [(BLOCK, BLOCK + 5), (BLOCK + 5, BLOCK + 5)]
    assert vectors([]).shape == (0, 32)


def test_a_model_of_another_task_is_refused(tmp_path: Path) -> None:
    folder = saved(small_model("classes", task="classify"), tmp_path / "model")
    with pytest.raises(InputError, match="a model for 'classify'; wanted an embedding model"):
        TextVectors(folder)


def test_a_text_that_cannot_be_read_is_named_by_its_number(tmp_path: Path) -> None:
    vectors = TextVectors(saved(small_model(None), tmp_path / "model"))
    with pytest.raises(InputError, match="text 2, which cannot be read: got a NUL character"):
        vectors(["fine", "a\0b"])


def test_a_model_is_known_by_its_files_not_by_its_place_or_card(tmp_path: Path) -> None:
    opened = small_model(None)
    first, second = (TextVectors(saved(opened, tmp_path / name)) for name in ("one", "two"))
    (tmp_path / "two" / "README.md").write_text("another card")
    other = TextVectors(saved(small_model("embedding"), tmp_path / "other"))
    assert first.identity == second.identity != other.identity
