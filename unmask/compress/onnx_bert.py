"""A whole model as an ONNX graph: an opened folder in, the graph with published names for inputs and outputs out.

Inputs are `input_ids`, `attention_mask` and `token_type_ids`, (batch, sequence) each, all sizes free. Every head has
the outputs that published models of its kind have; a few have one more, which `unmask` asks for because it costs less:
`mask_logits` has a row for each [MASK] of the batch in place of the vocabulary's logits for every token. Pretrained
models also have every layer, `hidden_states.0` (the embeddings) to the last. onnxruntime computes all outputs,
whichever are asked for: our own runtime opens such graphs without the logits of every token until somebody wants them.
"""

import json
from collections.abc import Callable

import numpy as np
import onnx

from unmask.compress.onnx_features import draw_reader
from unmask.compress.onnx_graph import GraphWriter
from unmask.compress.onnx_parts import Fused, Numbers, Parts, Portable, in_sequences
from unmask.compress.precision import FLOAT, Precision
from unmask.errors import InputError
from unmask.model.feature_heads import FeatureHead
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TABLES = frozenset(f"bert.embeddings.{table}" for table in ("words", "positions", "segments"))


def bert_graph(opened: ModelFolder, *, portable: bool = False, precision: Precision = FLOAT) -> onnx.ModelProto:
    """The graph of a model and its head.

    >>> from unmask.model.about import About
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.names import LoadReport
    >>> from unmask.text.tokenizer import Tokenizer
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=5)
    >>> opened = ModelFolder(config, Bert(config), Tokenizer(SPECIAL_PIECES), About(), LoadReport())
    >>> [output.name for output in bert_graph(opened).graph.output]
    ['last_hidden_state', 'hidden_states.0', 'hidden_states.1', 'hidden_states.2', 'pooler_output']
    """
    if opened.config.causal:
        raise InputError("a model that reads left to right", wanted="one that reads both ways", do="use it with torch")
    graph = GraphWriter()
    drawing = _Drawing(graph, Parts(graph, numbers_of(opened), (Portable if portable else Fused)(), precision), opened)
    HEADS[opened.about.head](drawing)
    return graph.model(_metadata(opened))


def numbers_of(opened: ModelFolder) -> dict[str, Numbers]:
    """All weights of a model by their names, the encoder's beginning with `bert.`; queries also by themselves."""
    prefix = "" if isinstance(opened.model, BertWithHead) else "bert."
    numbers = {f"{prefix}{name}": value.float().cpu().numpy() for name, value in opened.model.state_dict().items()}
    for name in [name for name in numbers if ".qkv." in name]:
        rows = len(numbers[name]) // 3
        numbers[name.replace("qkv", "query")], numbers[name.replace("qkv", "key_value")] = (
            numbers[name][:rows],
            numbers[name][rows:],
        )
    return numbers


class _Drawing:
    """The encoder, and what heads need of it."""

    def __init__(self, graph: GraphWriter, parts: Parts, opened: ModelFolder) -> None:
        self.graph, self.parts, self.config, self.about = graph, parts, opened.config, opened.about
        self.mask_id = opened.tokenizer.mask_id
        self.ids, self.mask, self.segments = (graph.input(name, np.int64, ["batch", "sequence"]) for name in INPUTS)
        self.masking = parts.dialect.masking(graph, self.mask)
        head = getattr(opened.model, "head", None)
        self.features = head.layers if isinstance(head, FeatureHead) else ()  # layers that a head reads by itself
        self.depth = max(self.features) if self.features else opened.config.layers
        self.firsts_only = opened.about.head in FIRSTS_ONLY and self.depth > 0 and not self.features
        self.layers = self._encoder()  # the embeddings and every layer, (T, D)
        self.hidden = self.layers[-1]  # the last, or (B, D) where a head reads no other token than [CLS]

    def _encoder(self) -> list[str]:
        graph, parts, epsilon = self.graph, self.parts, self.config.norm_epsilon
        words, segments = (
            parts.rows(ids, f"bert.embeddings.{table}")
            for ids, table in ((self.ids, "words"), (self.segments, "segments"))
        )
        length = graph.op("Squeeze", graph.op("Gather", graph.op("Shape", self.ids), graph.integers(1)))
        places = graph.op("Range", graph.constant(np.array(0)), length, graph.constant(np.array(1)))
        positions = parts.rows(places, "bert.embeddings.positions")
        summed = graph.op("Add", graph.op("Add", words, segments), positions)  # (B, S, D)
        x = graph.op("Reshape", summed, graph.integers(-1, self.config.width))
        x = parts.norm(x, "bert.embeddings.norm", epsilon)
        layers = [x]
        for number in range(self.depth):
            last = number == self.depth - 1
            layers.append(self._layer(layers[-1], number, firsts_only=last and self.firsts_only))
        return layers

    def _layer(self, x: str, number: int, *, firsts_only: bool) -> str:
        """One layer; the last may leave out what nobody reads: all queries but those of [CLS], and what follows."""
        graph, parts, own = self.graph, self.parts, f"bert.layers.{number}"
        heads = self.config.heads_of(number)
        if firsts_only:
            keys_values = in_sequences(graph, parts.linear(x, f"{own}.key_value"), self.mask)
            x = self.firsts(x)
            query = graph.op("Unsqueeze", parts.linear(x, f"{own}.query"), graph.integers(1))  # (B, 1, W)
            qkv = [query, *graph.ops("Split", keys_values, outputs=2, axis=2)]
        else:
            together = in_sequences(graph, parts.linear(x, f"{own}.qkv"), self.mask)
            qkv = graph.ops("Split", together, outputs=3, axis=2)
        context = parts.dialect.attention(graph, qkv, self.masking, heads, heads * self.config.head_width)
        added = graph.op("Add", parts.linear(context, f"{own}.attention_out"), x)
        x = parts.norm(added, f"{own}.attention_norm", self.config.norm_epsilon)
        wide = parts.dialect.activation(graph, parts.linear(x, f"{own}.up"), self.config.activation)
        added = graph.op("Add", parts.linear(wide, f"{own}.down"), x)
        return parts.norm(added, f"{own}.output_norm", self.config.norm_epsilon)

    @property
    def sequences(self) -> str:
        """The last layer."""  # (B, S, D)
        return in_sequences(self.graph, self.hidden, self.mask)

    def first(self) -> str:
        """The vector of each sequence's [CLS]."""  # (B, D)
        return self.hidden if self.firsts_only else self.firsts(self.hidden)

    def firsts(self, x: str) -> str:
        """The first row of each sequence."""  # (T, W) -> (B, W)
        return self.graph.op("Gather", in_sequences(self.graph, x, self.mask), self.graph.constant(np.array(0)), axis=1)

    def pooled(self) -> str:
        """The pooler over each [CLS]."""  # (B, D)
        return self.graph.op("Tanh", self.parts.linear(self.first(), "bert.pooler"))

    def token_states(self) -> str:
        """What heads read of each token."""  # (T, W)
        if not self.features:
            return self.hidden
        return draw_reader(self.graph, self.parts.numbers, [self.layers[number] for number in self.features], self.mask)

    def text_states(self) -> str:
        """What heads read of each sequence."""  # (B, W)
        return _mean(self, self.token_states()) if self.features else self.pooled()

    def output(self, name: str, value: str, *shape: int | str) -> None:
        self.graph.output(name, value, np.float32, shape)

    def width_of(self, name: str) -> int:
        return len(self.parts.numbers[f"{name}.bias"])


def _every_layer(drawing: _Drawing) -> None:
    """The embeddings and all layers, for those who take a pretrained model's states as features."""
    for number, layer in enumerate(drawing.layers):
        states = in_sequences(drawing.graph, layer, drawing.mask)
        drawing.output(f"hidden_states.{number}", states, "batch", "sequence", drawing.config.width)


def _bare(drawing: _Drawing) -> None:
    drawing.output("last_hidden_state", drawing.sequences, "batch", "sequence", drawing.config.width)
    _every_layer(drawing)
    if drawing.config.pooler:
        drawing.output("pooler_output", drawing.pooled(), "batch", drawing.config.width)


def _classes(drawing: _Drawing) -> None:
    logits = drawing.parts.linear(drawing.text_states(), "head.classifier")
    drawing.output("logits", logits, "batch", drawing.width_of("head.classifier"))


def _tokens(drawing: _Drawing) -> None:
    logits = drawing.parts.linear(drawing.token_states(), "head.classifier")
    shaped = in_sequences(drawing.graph, logits, drawing.mask)
    drawing.output("logits", shaped, "batch", "sequence", drawing.width_of("head.classifier"))


def _chained_tokens(drawing: _Drawing) -> None:
    _tokens(drawing)
    numbers, tags = drawing.parts.numbers, drawing.width_of("head.classifier")
    rows = [numbers["head.crf.transitions"], numbers["head.crf.start"][None], numbers["head.crf.end"][None]]
    drawing.output("transitions", drawing.graph.constant(np.concatenate(rows), "crf"), tags + 2, tags)


def _span(drawing: _Drawing) -> None:
    logits = in_sequences(drawing.graph, drawing.parts.linear(drawing.token_states(), "head.classifier"), drawing.mask)
    for column, name in enumerate(("start_logits", "end_logits")):
        number = drawing.graph.constant(np.array(column))
        drawing.output(name, drawing.graph.op("Gather", logits, number, axis=2), "batch", "sequence")


def _masked_words(drawing: _Drawing) -> None:
    words = "head.words" if "head.words.bias" in drawing.parts.numbers else "head"
    vocabulary = drawing.config.vocabulary_size
    every = in_sequences(drawing.graph, _word_logits(drawing, drawing.hidden, words), drawing.mask)
    drawing.output("logits", every, "batch", "sequence", vocabulary)
    masked = drawing.graph.op("Equal", drawing.ids, drawing.graph.constant(np.array(drawing.mask_id)))
    places = drawing.graph.op("Transpose", drawing.graph.op("NonZero", masked), perm=[1, 0])  # (M, 2)
    chosen = drawing.graph.op("GatherND", drawing.sequences, places)  # (M, D)
    drawing.output("mask_logits", _word_logits(drawing, chosen, words), "masks", vocabulary)
    _every_layer(drawing)


def _word_logits(drawing: _Drawing, hidden: str, words: str) -> str:
    graph, parts = drawing.graph, drawing.parts
    bent = parts.dialect.activation(graph, parts.linear(hidden, f"{words}.transform"), drawing.config.activation)
    states = parts.norm(bent, f"{words}.norm", drawing.config.norm_epsilon)
    return parts.tied(states, "bert.embeddings.words", f"{words}.bias")


def _next_sentence(drawing: _Drawing) -> None:
    drawing.output("logits", drawing.parts.linear(drawing.pooled(), "head.classifier"), "batch", 2)


def _pretraining(drawing: _Drawing) -> None:
    _masked_words(drawing)
    follows = drawing.parts.linear(drawing.pooled(), "head.next.classifier")
    drawing.output("seq_relationship_logits", follows, "batch", 2)


def _embedding(drawing: _Drawing) -> None:
    graph, width = drawing.graph, drawing.config.width
    drawing.output("last_hidden_state", drawing.sequences, "batch", "sequence", width)
    pooled = POOLINGS[drawing.about.pooling](drawing, drawing.hidden)
    drawing.output("pooled_tokens", pooled, "batch", width)
    if drawing.about.normalise:
        length = graph.op("ReduceL2", pooled, axes=[-1], keepdims=1)
        pooled = graph.op("Div", pooled, graph.op("Max", length, graph.number(1e-12)))
    drawing.output("sentence_embedding", pooled, "batch", width)


def _mean(drawing: _Drawing, x: str) -> str:
    graph = drawing.graph
    counted = graph.op("Unsqueeze", graph.op("Cast", drawing.mask, to=onnx.TensorProto.FLOAT), graph.integers(2))
    kept = graph.op("Mul", in_sequences(graph, x, drawing.mask), counted)
    summed = graph.op("ReduceSum", kept, graph.integers(1), keepdims=0)
    tokens = graph.op("ReduceSum", counted, graph.integers(1), keepdims=0)
    return graph.op("Div", summed, graph.op("Max", tokens, graph.number(1.0)))


def _maximum(drawing: _Drawing, x: str) -> str:
    graph = drawing.graph
    real = graph.op("Unsqueeze", graph.op("Cast", drawing.mask, to=onnx.TensorProto.BOOL), graph.integers(2))
    kept = graph.op("Where", real, in_sequences(graph, x, drawing.mask), graph.number(-np.inf))
    return graph.op("ReduceMax", kept, axes=[1], keepdims=0)


# (T, W) -> (B, W)
POOLINGS: dict[str, Callable[[_Drawing, str], str]] = {"mean": _mean, "max": _maximum, "cls": _Drawing.firsts}
FIRSTS_ONLY = ("classes", "regression", "choice", "next_sentence")  # heads that read [CLS] and no other token
HEADS: dict[str | None, Callable[[_Drawing], None]] = {
    None: _bare,
    "pretraining": _pretraining,
    "masked_words": _masked_words,
    "next_sentence": _next_sentence,
    "classes": _classes,
    "regression": _classes,
    "tokens": _tokens,
    "tags_crf": _chained_tokens,
    "span": _span,
    "choice": _classes,
    "embedding": _embedding,
}


def _metadata(opened: ModelFolder) -> dict[str, str]:
    """What the file says of itself, for those who have nothing else."""
    about = opened.about
    known = {"head": about.head or "", "task": about.task, "labels": json.dumps(about.labels, ensure_ascii=False)}
    if about.head == "embedding":
        known |= {"pooling": about.pooling, "normalised": str(about.normalise).lower()}
    return {f"unmask.{name}": value for name, value in known.items()}
