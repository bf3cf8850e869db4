"""A model folder as a serving folder, which answers without torch: ONNX, tokenizer, labels and checksums.

The graph is written, opened in onnxruntime and held against the model in torch, on random ids and on real text, before
the folder takes its place: a float32 export that differs by more than `TOLERANCE` anywhere is refused.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from torch import Tensor, nn

from unmask.compress.onnx_bert import bert_graph
from unmask.compress.onnx_graph import LARGEST
from unmask.data.rows import Row, text_rows
from unmask.errors import InputError
from unmask.model.about import published_fields, sentence_modules
from unmask.model.bert import Encoded
from unmask.model.card import write_card
from unmask.model.checksums import write_checksums
from unmask.model.folder import ModelFolder, count_parameters
from unmask.model.heads import BertWithHead, masked_words_in
from unmask.model.outputs import outputs_of
from unmask.model.whole_folder import whole_folder
from unmask.runtime.engine import Engine
from unmask.runtime.folder import MODELS

TOLERANCE = 1e-4  # of float32: what other orders of adding up may differ by
FLOAT32, QUANTIZED = MODELS
SAMPLES = (
    "The quick brown fox jumps over the lazy dog.",
    "It was not what they had hoped for, and yet nobody complained about the [MASK] weather.",
    "我们明天一起去北京看[MASK]电影，好吗？",
    "ok",
    "Prices rose by 3.5 % in 1997; analysts (all of them) had expected less. " * 3,
)


@dataclass(frozen=True)
class Exported:
    """What an export came to."""

    folder: Path
    bytes: int  # of all its files
    max_difference: float  # between its outputs and torch's


def export(opened: ModelFolder, folder: Path, *, portable: bool = False) -> Exported:
    """Writes a serving folder in float32."""
    return write_serving(opened, folder, bert_graph(opened, portable=portable), FLOAT32, full_check=portable)


def write_serving(
    opened: ModelFolder, folder: Path, graph: onnx.ModelProto, name: str, *, full_check: bool = False
) -> Exported:
    """Writes a graph and all that belongs to it, and says how far it is from torch."""
    if graph.ByteSize() > LARGEST:
        raise InputError(f"a model of {graph.ByteSize():,} bytes", wanted=f"at most {LARGEST:,} in one ONNX file")
    onnx.checker.check_model(graph, full_check=full_check)
    with whole_folder(folder) as temporary:
        (temporary / name).parent.mkdir()
        onnx.save(graph, temporary / name)
        difference = max_difference(opened, Engine(temporary / name, opened.about.head))
        if name == FLOAT32 and not difference <= TOLERANCE:
            raise InputError(
                f"an export that differs from the model by {difference:.2g}",
                wanted=f"at most {TOLERANCE}",
                do="report it: this should not happen",
            )
        for file, text in _texts(opened, folder.name).items():
            (temporary / file).parent.mkdir(exist_ok=True)
            (temporary / file).write_text(text, encoding="utf-8")
        opened.tokenizer.save(temporary)
        write_checksums(temporary)
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
    return Exported(folder, size, difference)


def max_difference(opened: ModelFolder, engine: Engine) -> float:
    """The largest difference between what an engine and torch say of random ids and of real text."""
    rows = sample_rows(opened)
    pairs = zip(outputs_of(_speaking(opened), rows), engine.outputs(rows), strict=True)
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)


def sample_rows(opened: ModelFolder) -> list[Row]:
    """Rows to compare engines by: real text in two scripts, and random ids of many lengths in both segments."""
    chance, positions = np.random.default_rng(0), opened.config.positions
    texts = text_rows(opened.tokenizer, [(text, None) for text in SAMPLES], longest=positions)
    lengths = {min(length, positions) for length in (3, 8, 21, 22, 64, positions)}
    drawn = [chance.integers(0, opened.config.vocabulary_size, size=length) for length in sorted(lengths)]
    return texts + [
        Row(ids.tolist(), np.sort(chance.integers(0, opened.config.segments, size=len(ids))).tolist(), len(texts))
        for ids in drawn
    ]


class _EveryToken(nn.Module):
    """What stands in for heads that do not speak of every token by themselves."""

    per_token = True

    def __init__(self, read: Callable[[Encoded], Tensor]) -> None:
        super().__init__()
        self.read = read

    def forward(self, encoded: Encoded) -> Tensor:
        return self.read(encoded)


def _speaking(opened: ModelFolder) -> BertWithHead:
    """A model whose outputs are those that `Engine` gives of its export."""
    model = opened.model
    if not isinstance(model, BertWithHead):
        return BertWithHead(model, _EveryToken(lambda encoded: encoded.hidden))
    words = masked_words_in(model.head)
    return model if words is None else BertWithHead(model.bert, _EveryToken(words))


def _texts(opened: ModelFolder, name: str) -> dict[str, str]:
    """The files that say what the model is, by name."""
    config, about = opened.config, opened.about
    fields = config.to_published() | published_fields(about, outputs_in(opened))
    fields |= {"pad_token_id": opened.tokenizer.pad_id}
    texts = {
        "config.json": json.dumps(fields, indent=2, ensure_ascii=False) + "\n",
        "unmask.json": about.to_json(),
        "README.md": write_card(name, config, about, count_parameters(opened.model)),
    }
    return texts | (sentence_modules(about, config.width, config.positions) if about.head == "embedding" else {})


def outputs_in(opened: ModelFolder) -> int:
    """How many numbers a classifier gives; 0 if there is none."""
    classifier = getattr(getattr(opened.model, "head", None), "classifier", None)
    return classifier.out_features if isinstance(classifier, nn.Linear) else 0
