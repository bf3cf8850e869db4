"""Who computes: torch for a few rows, onnxruntime for many, the same answers from both."""

from pathlib import Path

import numpy as np
import pytest
from products import need_products_in
from small_models import small_model

from unmask.apps.predict import Predictor
from unmask.compress import model_engine
from unmask.compress.model_engine import CALL, ModelEngine, can_be_exported
from unmask.data.rows import Row
from unmask.model.folder import ModelFolder, open_model, save_model

HEADS = ("classes", "regression", "tokens", "tags_crf", "span", "choice", "embedding")


def rows_of(opened: ModelFolder, lengths: list[int]) -> list[Row]:
    chance, pieces = np.random.default_rng(0), opened.config.vocabulary_size
    return [Row(chance.integers(5, pieces, size=n).tolist(), [0] * n, place) for place, n in enumerate(lengths)]


@pytest.mark.parametrize("head", HEADS)
def test_many_rows_are_answered_by_onnxruntime_as_torch_would(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = small_model(head)
    rows = rows_of(opened, [3, 7, 7, 5])
    expected = ModelEngine(opened).outputs(rows)
    monkeypatch.setattr(model_engine, "ENOUGH", CALL + 22)
    engine = ModelEngine(opened)
    for ours, theirs in zip(engine.outputs(rows), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert engine.name == "onnxruntime"


def test_rows_of_all_calls_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_engine, "ENOUGH", 3 * (CALL + 5))
    opened = small_model("classes")
    engine, names = ModelEngine(opened), []
    for _ in range(3):
        engine.outputs(rows_of(opened, [5]))
        names.append(engine.name)
    assert names == ["torch", "torch", "onnxruntime"]


def test_a_model_in_another_precision_stays_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    need_products_in("bfloat16")
    monkeypatch.setattr(model_engine, "ENOUGH", 1)
    opened = small_model("classes")
    engine = ModelEngine(opened, precision="bfloat16")
    engine.outputs(rows_of(opened, [5]))
    assert engine.name == "torch, products in bfloat16"


def test_a_model_that_is_too_large_stays_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_engine, "ENOUGH", 1)
    monkeypatch.setattr(model_engine, "TWICE", 1000)
    opened = small_model("classes")
    engine = ModelEngine(opened)
    engine.outputs(rows_of(opened, [5]))
    assert engine.name == "torch"
    assert can_be_exported(opened, within=1_000_000)


def test_as_many_threads_as_torch_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.get_num_threads", lambda: 3)
    assert model_engine.in_memory(small_model("classes")).engine.threads == 3


def test_predictions_of_a_folder_are_the_same_by_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = small_model("classes")
    save_model(tmp_path, opened.config, opened.model, opened.tokenizer, opened.about)
    texts = ["rain", "snow and rain"]
    few = Predictor.of(open_model(tmp_path))
    expected = [answer.to_dict()["label"] for answer in few(texts)]
    monkeypatch.setattr(model_engine, "ENOUGH", 1)
    many = Predictor.of(open_model(tmp_path))
    assert [answer.to_dict()["label"] for answer in many(texts)] == expected
    assert (few.engine, many.engine) == ("torch", "onnxruntime")
