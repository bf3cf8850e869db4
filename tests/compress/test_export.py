"""Exported models: every head says what torch says, files are checked, and others can open them."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from small_models import small_model

from unmask.compress.export import export, max_difference, sample_rows
from unmask.compress.onnx_bert import HEADS, INPUTS, bert_graph
from unmask.compress.onnx_graph import MICROSOFT, all_nodes
from unmask.compress.prune import keep_heads
from unmask.errors import InputError
from unmask.model.feature_heads import CHOICES, READERS
from unmask.model.folder import open_model
from unmask.model.heads import BertWithHead
from unmask.runtime.batching import padded
from unmask.runtime.engine import Engine
from unmask.runtime.folder import open_serving

EVERY_HEAD = pytest.mark.parametrize("head", HEADS, ids=str)


@EVERY_HEAD
@pytest.mark.parametrize("portable", [False, True], ids=["fused", "portable"])
def test_an_export_says_what_torch_says(head: str | None, portable: bool, tmp_path: Path) -> None:
    exported = export(small_model(head), tmp_path / "serving", portable=portable)
    assert 0 < exported.max_difference < 1e-5


@pytest.mark.parametrize("layers", CHOICES)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("portable", [False, True], ids=["fused", "portable"])
def test_heads_over_frozen_layers_agree_too(layers: str, reader: str, portable: bool, tmp_path: Path) -> None:
    for head in ("tags_crf", "classes"):
        opened = small_model(head, features={"layers": layers, "reader": reader})
        assert 0 < export(opened, tmp_path / head, portable=portable).max_difference < 1e-5


def test_layers_behind_the_last_that_is_read_are_left_out() -> None:
    graph = bert_graph(small_model("tokens", features={"layers": "second-to-last", "reader": "bilstm"}))
    names = {tensor.name for tensor in graph.graph.initializer}
    assert "bert.layers.0.up.weight" in names
    assert "bert.layers.1.up.weight" not in names


def test_a_left_to_right_model_is_refused(tmp_path: Path) -> None:
    opened = small_model("classes")
    with pytest.raises(InputError, match="reads left to right"):
        export(replace(opened, config=replace(opened.config, causal=True)), tmp_path / "serving")


@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
@pytest.mark.parametrize("portable", [False, True], ids=["fused", "portable"])
def test_other_activations_agree_too(activation: str, portable: bool, tmp_path: Path) -> None:
    opened = small_model("classes")
    for layer in opened.bert.layers:
        layer.activation = activation
    opened = replace(opened, config=replace(opened.config, activation=activation))
    assert export(opened, tmp_path / "serving", portable=portable).max_difference < 1e-5


@pytest.mark.parametrize("portable", [False, True], ids=["fused", "portable"])
def test_a_layer_with_fewer_heads_agrees_too(portable: bool, tmp_path: Path) -> None:
    opened = small_model("classes")
    pruned = keep_heads(opened.model, [[0, 1, 2, 3], [2]])
    assert isinstance(pruned, BertWithHead)
    opened = replace(opened, model=pruned.eval(), config=pruned.bert.config)
    assert export(opened, tmp_path / "serving", portable=portable).max_difference < 1e-5


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_an_embedding_is_pooled_and_normalised_in_the_graph(pooling: str, tmp_path: Path) -> None:
    opened = small_model("embedding", pooling=pooling, normalise=True)
    assert export(opened, tmp_path, portable=True).max_difference < 1e-5
    rows = sample_rows(opened)
    values = open_serving(tmp_path).engine.run(rows[:4], ["pooled_tokens", "sentence_embedding"])
    lengths = np.linalg.norm(values["pooled_tokens"], axis=-1, keepdims=True)
    np.testing.assert_allclose(values["sentence_embedding"], values["pooled_tokens"] / lengths, atol=1e-6)


def test_logits_at_masks_are_rows_of_all_logits(tmp_path: Path) -> None:
    opened = small_model("pretraining")
    export(opened, tmp_path)
    rows = sample_rows(opened)
    values = open_serving(tmp_path).engine.run(rows, ["logits", "mask_logits", "seq_relationship_logits"])
    ids, _, _ = padded(rows)
    assert (ids == opened.tokenizer.mask_id).sum() > 1
    np.testing.assert_allclose(values["mask_logits"], values["logits"][ids == opened.tokenizer.mask_id], atol=1e-5)


def test_the_next_sentence_head_of_pretraining_agrees(tmp_path: Path) -> None:
    from unmask.data.ragged import pack

    opened = small_model("pretraining")
    export(opened, tmp_path)
    row = sample_rows(opened)[0]
    with torch.inference_mode():
        _, expected = opened.model(pack([row.ids], [row.segments]))
    found = open_serving(tmp_path).engine.run([row], ["seq_relationship_logits"])["seq_relationship_logits"]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


@EVERY_HEAD
def test_a_portable_graph_passes_the_full_checker_and_has_standard_operators_alone(head: str | None) -> None:
    graph = bert_graph(small_model(head), portable=True)
    onnx.checker.check_model(graph, full_check=True)
    assert {node.domain for node in graph.graph.node} == {""}


def test_a_fused_graph_has_fused_attention_and_gelu() -> None:
    graph = bert_graph(small_model("classes"))
    assert {node.op_type for node in all_nodes(graph.graph) if node.domain == MICROSOFT} == {
        "MultiHeadAttention",
        "Gelu",
    }


def test_the_file_alone_opens_in_plain_onnxruntime_and_says_its_labels(tmp_path: Path) -> None:
    export(small_model("classes", task="reviews"), tmp_path)
    session = onnxruntime.InferenceSession(tmp_path / "onnx/model.onnx", providers=["CPUExecutionProvider"])
    known = session.get_modelmeta().custom_metadata_map
    assert known == {"unmask.head": "classes", "unmask.task": "reviews", "unmask.labels": '["bad", "fair", "good"]'}
    given = {name: np.ones((2, 5), dtype=np.int64) for name in INPUTS}
    assert session.run(None, given)[0].shape == (2, 3)


def test_the_folder_has_the_published_layout_and_sha256sum_agrees(tmp_path: Path) -> None:
    export(small_model("classes"), tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["id2label"]["2"] == "good"
    assert {"tokenizer.json", "vocab.txt", "unmask.json", "README.md"} <= {path.name for path in tmp_path.iterdir()}
    subprocess.run(["sha256sum", "--quiet", "-c", "checksums.txt"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["onnx/model.onnx", "unmask.json", "vocab.txt"])
def test_a_damaged_export_is_noticed(name: str, tmp_path: Path) -> None:
    export(small_model("classes"), tmp_path)
    damaged = bytearray((tmp_path / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / name).write_bytes(damaged)
    with pytest.raises(InputError, match="damaged"):
        open_serving(tmp_path)


def test_an_operator_that_onnxruntime_does_not_know_is_one_clear_line(tmp_path: Path) -> None:
    graph = bert_graph(small_model("classes"))
    graph.graph.node[-1].op_type = "Unheard"
    onnx.save(graph, tmp_path / "model.onnx")
    with pytest.raises(InputError, match=r"which onnxruntime .* cannot open"):
        Engine(tmp_path / "model.onnx", "classes")


def test_an_opset_that_onnxruntime_does_not_know_is_one_clear_line() -> None:
    graph = bert_graph(small_model("classes"))
    graph.opset_import[0].version = 99
    with pytest.raises(InputError, match=r"which onnxruntime .* cannot open") as caught:
        Engine(graph.SerializeToString(), "classes")
    assert "\n" not in str(caught.value)


def test_an_export_that_differs_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = small_model("classes")
    monkeypatch.setattr("unmask.compress.export.max_difference", lambda *_: float("nan"))
    with pytest.raises(InputError, match="differs"):
        export(opened, tmp_path / "serving")
    assert not list(tmp_path.iterdir())


def test_the_difference_is_that_of_the_worst_number(tmp_path: Path) -> None:
    opened = small_model("regression")
    export(opened, tmp_path)
    engine = open_serving(tmp_path).engine
    with torch.no_grad():
        opened.model.head.classifier.bias += 0.25
    assert abs(max_difference(opened, engine) - 0.25) < 1e-5


def test_a_serving_folder_opened_in_torch_says_what_it_is(tmp_path: Path) -> None:
    export(small_model("classes"), tmp_path)
    with pytest.raises(InputError, match="this serving folder was exported from"):
        open_model(tmp_path)
