"""int8: numbers by a slow second opinion, answers that stay, layers kept by measurement, refusals with the loss."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import small_model
from stores import EXAMPLES, TASK, TOKENIZER, classifier

from unmask.apps.predict import Predictor
from unmask.compress import quantize as module
from unmask.compress.export import sample_rows
from unmask.compress.onnx_bert import TABLES, bert_graph
from unmask.compress.precision import InputRange, Precision
from unmask.compress.quantize import Judge, Seen, observe, precision_of, quantize
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import LoadReport
from unmask.runtime.engine import Engine
from unmask.runtime.folder import open_serving
from unmask.tasks.task import make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES


@pytest.fixture(scope="module")
def trained() -> ModelFolder:
    """A small classifier that knows its examples by heart."""
    model = classifier()
    rows = TASK.rows(EXAMPLES, TOKENIZER)
    batch = make_batch(rows, per_token=False)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        optimiser.zero_grad()
        losses, _ = TASK.losses(model(batch.ragged), batch)
        losses["class"].backward()
        optimiser.step()
    about = About("classes", **TASK.about)
    return ModelFolder(model.bert.config, model.eval(), TOKENIZER, about, LoadReport())


@given(st.floats(-50, 0), st.floats(0, 50))
def test_a_range_rounds_everything_in_it_to_the_nearest_step(lowest: float, highest: float) -> None:
    found = InputRange(lowest, highest)
    inputs = np.linspace(lowest, highest, 50).astype(np.float32)
    rounded = module._rounded(inputs, found)
    assert np.abs(rounded - inputs).max() <= found.scale * 1.001
    assert module._rounded(np.zeros(1, np.float32), found)[0] == 0


def test_weights_fit_seven_bits_and_columns_have_their_own_scales() -> None:
    matrix = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32) * np.array([1, 10, 0.1, 0, 3], np.float32)
    found = Precision().rounded("any", matrix)
    assert np.abs(found.rows).max() == 63
    assert (np.abs(found.rows * found.scales - matrix) <= found.scales / 2 + 1e-6).all()


@pytest.mark.parametrize("head", ["classes", "tokens", "span", "embedding", "pretraining"])
@pytest.mark.parametrize("calibrated", [False, True], ids=["dynamic", "calibrated"])
@pytest.mark.parametrize("portable", [False, True], ids=["fused", "portable"])
def test_outputs_stay_near(head: str, calibrated: bool, portable: bool) -> None:
    opened = small_model(head)
    rows = sample_rows(opened)
    precision = precision_of(observe(opened, rows), calibrated=calibrated)
    graphs = [bert_graph(opened), bert_graph(opened, portable=portable, precision=precision)]
    whole, small = (Engine(graph.SerializeToString(), head).outputs(rows) for graph in graphs)
    for exact, near in zip(whole, small, strict=True):
        assert 0 < np.square(near - exact).mean() < 0.01 * np.square(exact).mean() + 1e-3


def test_both_dialects_compute_the_same_in_int8() -> None:
    opened = small_model("classes")
    rows = sample_rows(opened)
    precision = precision_of(observe(opened, rows), calibrated=True)
    graphs = [bert_graph(opened, portable=portable, precision=precision) for portable in (False, True)]
    fused, portable = (Engine(graph.SerializeToString(), "classes").outputs(rows) for graph in graphs)
    np.testing.assert_allclose(fused, portable, atol=1e-4)


def test_calibrated_answers_do_not_depend_on_batch_mates() -> None:
    opened = small_model("classes")
    rows = sample_rows(opened)
    graph = bert_graph(opened, precision=precision_of(observe(opened, rows), calibrated=True))
    engine = Engine(graph.SerializeToString(), "classes", threads=1)
    together = engine.outputs(rows)
    for row, found in zip(rows, together, strict=True):
        np.testing.assert_allclose(engine.outputs([row])[0], found, atol=1e-4)


def test_embedding_rows_are_bytes_with_a_scale_each() -> None:
    graph = bert_graph(small_model("classes"), precision=Precision(tables=TABLES))
    kinds = {tensor.name: tensor.data_type for tensor in graph.graph.initializer}
    assert {name for name in kinds if name.endswith(".int8")} == {f"{table}.int8" for table in TABLES}
    assert not any(f"{table}.weight" in kinds for table in TABLES)


@pytest.mark.parametrize("calibrated", [False, True], ids=["dynamic", "calibrated"])
def test_a_trained_model_answers_the_same_in_int8(trained: ModelFolder, calibrated: bool, tmp_path: Path) -> None:
    made = quantize(trained, tmp_path, examples=EXAMPLES, calibrated=calibrated)
    assert (made.metric, made.score_before, made.score_after, made.kept) == ("accuracy", 1.0, 1.0, ())
    assert made.bytes_after < made.bytes_before
    assert [path.name for path in (tmp_path / "onnx").iterdir()] == ["model_quantized.onnx"]
    ours, whole = Predictor.open(tmp_path), Predictor.of_model(trained)
    pairs = zip(ours.many(EXAMPLES), whole.many(EXAMPLES), strict=True)
    assert all(one.label == other.label for one, other in pairs)


def test_without_examples_there_is_a_difference_but_no_score(tmp_path: Path) -> None:
    made = quantize(small_model("pretraining"), tmp_path)
    assert made.max_difference > 0
    assert made.score_after is None
    assert open_serving(tmp_path).about.head == "pretraining"


def test_a_tiny_model_with_a_trimmed_vocabulary_is_under_three_megabytes(tmp_path: Path) -> None:
    pieces = [*SPECIAL_PIECES, *(f"word{number}" for number in range(8000))]
    config = BertConfig.named("tiny", vocabulary_size=len(pieces))
    model = BertWithHead(Bert(config), make_head("classes", config, outputs=2)).eval()
    opened = ModelFolder(config, model, Tokenizer(pieces), About("classes", labels=("no", "yes")), LoadReport())
    assert quantize(opened, tmp_path).bytes_after < 3_000_000


def test_layers_that_hurt_stay_in_float_and_a_bad_loss_is_refused(
    trained: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([0.9, 0.5, 0.6, 0.897])
    monkeypatch.setattr(Judge, "score", lambda *_: next(scores))
    made = quantize(trained, tmp_path / "kept", examples=EXAMPLES)
    seen = observe(trained, TASK.rows(EXAMPLES, TOKENIZER))
    assert len(made.kept) == round(len(seen) / 6)
    assert min(seen[name].error for name in made.kept) >= max(seen[name].error for name in seen.keys() - made.kept)
    scores = iter([0.9] + [0.8] * 20)
    with pytest.raises(InputError, match=r"loses 10\.0 points"):
        quantize(trained, tmp_path / "refused", examples=EXAMPLES)
    assert not (tmp_path / "refused").exists()
    scores = iter([0.9] + [0.8] * 20)
    assert quantize(trained, tmp_path / "forced", examples=EXAMPLES, force=True).score_after == 0.8


def test_a_layer_of_outliers_is_found_to_be_worst() -> None:
    opened = small_model("classes")
    model = opened.model
    with torch.no_grad():
        model.bert.layers[1].up.weight[:, 0] *= 40  # type: ignore[union-attr]
    seen = observe(replace(opened, model=model), sample_rows(opened))
    assert isinstance(seen["bert.layers.1.up"], Seen)
    assert seen["bert.layers.1.up"].error == max(layer.error for layer in seen.values())
