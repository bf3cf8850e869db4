"""Models without an output that costs much: the same numbers elsewhere, and nothing computed for it any more."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from small_models import small_model

from unmask.compress.export import sample_rows
from unmask.compress.onnx_bert import INPUTS, TABLES, bert_graph
from unmask.compress.onnx_graph import all_nodes
from unmask.compress.precision import Precision
from unmask.errors import InputError
from unmask.runtime.batching import padded
from unmask.runtime.engine import Engine
from unmask.runtime.lean_graph import without_output


@pytest.mark.parametrize("head", ["pretraining", "masked_words"])
@pytest.mark.parametrize("precision", [Precision(), Precision(tables=TABLES)], ids=["float32", "int8"])
def test_all_other_outputs_stay_the_same(head: str, precision: Precision) -> None:
    opened = small_model(head)
    whole = bert_graph(opened, precision=precision).SerializeToString()
    lean = without_output(whole, "logits")
    onnx.checker.check_model(onnx.load_from_string(lean))
    given = dict(zip(INPUTS, padded(sample_rows(opened)), strict=True))
    sessions = [onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]) for model in (whole, lean)]
    names = [output.name for output in sessions[1].get_outputs()]
    assert names == [output.name for output in sessions[0].get_outputs() if output.name != "logits"]
    for found, expected in zip(*(session.run(names, given) for session in sessions), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_what_served_that_output_alone_is_gone_and_the_rest_is_as_it_was() -> None:
    whole = bert_graph(small_model("pretraining"))
    lean = onnx.load_from_string(without_output(whole.SerializeToString(), "logits"))
    kept = {node.name for node in lean.graph.node}
    gone = [node for node in whole.graph.node if node.name not in kept]
    assert [node.op_type for node in gone].count("Gemm") == 2  # the head's transformation and the vocabulary
    assert {node.op_type for node in all_nodes(lean.graph)} >= {"MultiHeadAttention", "GatherND"}
    assert list(lean.graph.initializer) == list(whole.graph.initializer)
    assert lean.metadata_props == whole.metadata_props


def test_a_file_is_read_like_its_bytes(tmp_path: Path) -> None:
    content = bert_graph(small_model("masked_words")).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content)
    assert without_output(tmp_path / "model.onnx", "logits") == without_output(content, "logits")


def test_an_engine_leaves_out_the_logits_of_every_token_until_they_are_asked_for() -> None:
    opened = small_model("pretraining")
    rows, engine = sample_rows(opened), Engine(bert_graph(opened).SerializeToString(), "pretraining", threads=1)
    at_masks = engine.run(rows, ["mask_logits"])["mask_logits"]
    assert [without for _, without in engine._sessions] == ["logits"]
    every = engine.run(rows, ["logits"])["logits"]
    np.testing.assert_allclose(at_masks, every[padded(rows)[0] == opened.tokenizer.mask_id], atol=1e-5)


@pytest.mark.parametrize("content", [b"", b"\xff" * 99, b"no model"], ids=["empty", "ones", "text"])
def test_a_damaged_file_is_one_clear_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(InputError, match=r"which onnxruntime .* cannot open") as caught:
        Engine(tmp_path / "model.onnx", "pretraining")
    assert "\n" not in str(caught.value)
