"""Published names and ours: one table for each (encoder, head), used in both directions.

The published names are those of transformers (`bert.encoder.layer.0.attention.self.query.weight`); Google's TensorFlow
names are a spelling of the same. Our `qkv` is the published query, key and value stacked; all else is one to one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.model.config import BertConfig

LAYER = {
    "qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention_out": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "up": ("intermediate.dense",),
    "down": ("output.dense",),
    "output_norm": ("output.LayerNorm",),
}
WORDS = {
    "transform.weight": "cls.predictions.transform.dense.weight",
    "transform.bias": "cls.predictions.transform.dense.bias",
    "norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "bias": "cls.predictions.bias",
}
NEXT = {"classifier.weight": "cls.seq_relationship.weight", "classifier.bias": "cls.seq_relationship.bias"}
CLASSIFIER = {"classifier.weight": "classifier.weight", "classifier.bias": "classifier.bias"}
CRF = {  # as pytorch-crf calls them, which most published models with one are made with
    "crf.transitions": "crf.transitions",
    "crf.start": "crf.start_transitions",
    "crf.end": "crf.end_transitions",
}
SPAN = {"classifier.weight": "qa_outputs.weight", "classifier.bias": "qa_outputs.bias"}
HEAD_NAMES: dict[str, dict[str, str]] = {
    "pretraining": {f"words.{o}": p for o, p in WORDS.items()} | {f"next.{o}": p for o, p in NEXT.items()},
    "masked_words": WORDS,
    "next_sentence": NEXT,
    "classes": CLASSIFIER,
    "regression": CLASSIFIER,
    "tokens": CLASSIFIER,
    "tags_crf": CLASSIFIER | CRF,
    "choice": CLASSIFIER,
    "span": SPAN,
    "embedding": {},
}
POOLED_HEADS = ("pretraining", "next_sentence", "classes", "regression", "choice")

TIED = {  # stored a second time by some writers: what each must be equal to
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
GOOGLE_HEADS = {
    "cls.predictions.bias": "cls/predictions/output_bias",
    "cls.seq_relationship.weight": "cls/seq_relationship/output_weights",
    "cls.seq_relationship.bias": "cls/seq_relationship/output_bias",
    "classifier.weight": "output_weights",
    "classifier.bias": "output_bias",
    "qa_outputs.weight": "cls/squad/output_weights",
    "qa_outputs.bias": "cls/squad/output_bias",
    "crf.transitions": "crf/transitions",
    "crf.start_transitions": "crf/start_transitions",
    "crf.end_transitions": "crf/end_transitions",
}

State = dict[str, Tensor]


@dataclass(frozen=True)
class LoadReport:
    """Which stored tensors became part of the model, and which were left aside."""

    used: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def published_names(config: BertConfig, head: str | None, features: Iterable[str] = ()) -> dict[str, tuple[str, ...]]:
    """Each of our parameters and the published tensors that it is made of, stacked in this order.

    A head that reads features has no published form: its parameters, `features`, keep their names.

    >>> names = published_names(BertConfig.named("tiny"), "span")
    >>> names["bert.layers.1.qkv.bias"][0]
    'bert.encoder.layer.1.attention.self.query.bias'
    >>> names["head.classifier.weight"]
    ('qa_outputs.weight',)
    """
    names: dict[str, tuple[str, ...]] = {
        "bert.embeddings.words.weight": ("bert.embeddings.word_embeddings.weight",),
        "bert.embeddings.positions.weight": ("bert.embeddings.position_embeddings.weight",),
        "bert.embeddings.segments.weight": ("bert.embeddings.token_type_embeddings.weight",),
    }
    names |= _both("bert.embeddings.norm", ["bert.embeddings.LayerNorm"])
    for number in range(config.layers):
        for ours, theirs in LAYER.items():
            names |= _both(f"bert.layers.{number}.{ours}", [f"bert.encoder.layer.{number}.{part}" for part in theirs])
    if config.pooler:
        names |= _both("bert.pooler", ["bert.pooler.dense"])
    head_names = {name: f"features.{name}" for name in features} or HEAD_NAMES.get(head or "", {})
    return names | {f"head.{ours}": (theirs,) for ours, theirs in head_names.items()}


def to_published(
    state: Mapping[str, Tensor], config: BertConfig, head: str | None, features: Iterable[str] = ()
) -> State:
    """Our parameters as published tensors.

    >>> from unmask.model.bert import Bert
    >>> config = BertConfig.named("tiny", vocabulary_size=100)
    >>> state = {f"bert.{name}": tensor for name, tensor in Bert(config).state_dict().items()}
    >>> to_published(state, config, None)["bert.encoder.layer.0.attention.self.key.weight"].shape
    torch.Size([128, 128])
    """
    names = published_names(config, head, features)
    assert names.keys() == state.keys(), names.keys() ^ state.keys()
    published: State = {}
    for ours, theirs in names.items():
        published |= zip(theirs, state[ours].detach().chunk(len(theirs)), strict=True)
    return published


def to_ours(
    tensors: Mapping[str, Tensor], shapes: Mapping[str, torch.Size], names: Mapping[str, tuple[str, ...]], source: str
) -> tuple[State, LoadReport]:
    """Published tensors as our parameters of these shapes, in float32; a missing or wrong-shaped one is an error."""
    _check_tied(tensors, source)
    state: State = {}
    for ours, theirs in names.items():
        rows, *rest = shapes[ours]
        parts = [_pick(tensors, name, (rows // len(theirs), *rest), source) for name in theirs]
        state[ours] = (parts[0] if len(parts) == 1 else torch.cat(parts)).float()
    used = {name for theirs in names.values() for name in theirs}
    return state, LoadReport(tuple(sorted(used)), tuple(sorted(tensors.keys() - used - TIED.keys())))


def standard_names(tensors: Mapping[str, Tensor]) -> State:
    """The same tensors under today's full names: older ones say gamma and beta, or leave out `bert.`.

    >>> list(standard_names({"embeddings.LayerNorm.gamma": torch.ones(1)}))
    ['bert.embeddings.LayerNorm.weight']
    """
    named = {_standard_name(name): tensor for name, tensor in tensors.items() if not name.endswith("position_ids")}
    if "cls.predictions.bias" not in named and "cls.predictions.decoder.bias" in named:
        named["cls.predictions.bias"] = named["cls.predictions.decoder.bias"]
    return named


def to_google(name: str) -> tuple[str, bool]:
    """A published name as Google's TensorFlow code spells it, and whether the matrix is stored transposed there.

    >>> to_google("bert.encoder.layer.3.output.dense.weight")
    ('bert/encoder/layer_3/output/dense/kernel', True)
    """
    if name in GOOGLE_HEADS:
        return GOOGLE_HEADS[name], False
    path, leaf = re.sub(r"\.layer\.(\d+)", r".layer_\1", name).rsplit(".", 1)
    path = path.replace(".", "/")
    if path.endswith("embeddings"):
        return path, False
    norm = path.endswith("LayerNorm")
    leaves = {"weight": "gamma", "bias": "beta"} if norm else {"weight": "kernel", "bias": "bias"}
    return f"{path}/{leaves[leaf]}", leaf == "weight" and not norm


def from_google(name: str) -> str | None:
    """The published name of one of Google's variables; none for an optimiser's slots and counters.

    >>> from_google("bert/encoder/layer_3/output/dense/kernel")
    'bert.encoder.layer.3.output.dense.weight'
    >>> from_google("bert/encoder/layer_3/output/dense/kernel/adam_m") is None
    True
    """
    for theirs, google in GOOGLE_HEADS.items():
        if name == google:
            return theirs
    path, _, leaf = re.sub(r"/layer_(\d+)/", r"/layer/\1/", name).replace("/", ".").rpartition(".")
    leaves = {"kernel": "weight", "gamma": "weight", "bias": "bias", "beta": "bias"}
    if path == "bert.embeddings" and leaf.endswith("_embeddings"):
        return f"{path}.{leaf}.weight"
    return f"{path}.{leaves[leaf]}" if leaf in leaves and path.startswith(("bert.", "cls.")) else None


def _both(ours: str, theirs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {f"{ours}.{leaf}": tuple(f"{name}.{leaf}" for name in theirs) for leaf in ("weight", "bias")}


def _standard_name(name: str) -> str:
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    return f"bert.{name}" if name.startswith(("embeddings.", "encoder.", "pooler.")) else name


def _pick(tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...], source: str) -> Tensor:
    if name not in tensors:
        raise InputError(f"{source} without the tensor '{name}'", wanted=f"one of shape {list(shape)}")
    tensor = tensors[name]
    if tuple(tensor.shape) != shape:
        raise InputError(
            f"tensor '{name}' of shape {list(tensor.shape)} in {source}",
            wanted=f"shape {list(shape)}, as the configuration says",
        )
    return tensor


def _check_tied(tensors: Mapping[str, Tensor], source: str) -> None:
    for copy, original in TIED.items():
        if copy in tensors and original in tensors and not torch.equal(tensors[copy], tensors[original]):
            raise InputError(
                f"tensor '{copy}' that differs from '{original}' in {source}",
                wanted="a masked-word head that shares the word embeddings, as BERT has it",
            )
