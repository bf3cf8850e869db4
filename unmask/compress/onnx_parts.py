"""The parts of a BERT as ONNX operators: numbers of linear layers and norms in, values of the graph out.

`Fused` uses onnxruntime's own operators where they were measured to be faster; `Portable` keeps to the standard, which
every runtime has. Hidden states are (T, D) all along, T = B · S, padding included: a linear layer is one product with
its bias, and only attention sees sequences. onnxruntime's fused skip-and-normalise and bias-and-gelu are left alone:
they take 2.7 and 1.9 times as long as the plain operators here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unmask.compress.onnx_graph import MICROSOFT, GraphWriter
from unmask.compress.precision import Int8, Precision

Numbers = NDArray[np.float32]
HIDDEN = -1e9  # added to what no token may attend to: e^HIDDEN is zero


@dataclass(frozen=True)
class Masking:
    """What a mask means to attention; written once, read by every layer."""

    mask: str  # as it was given, (B, S)
    hidden: str  # as attention reads it
    all_seen: str = ""  # whether there is no padding at all, where a dialect asks


class Dialect(Protocol):
    """How what differs between runtimes is written."""

    def masking(self, graph: GraphWriter, mask: str) -> Masking:
        """The mask as attention wants it."""
        ...

    def attention(self, graph: GraphWriter, qkv: Sequence[str], masking: Masking, heads: int, width: int) -> str:
        """What tokens take from those of their sequence."""  # (B, queries, W), (B, S, W) twice -> (B · queries, W)
        ...

    def activation(self, graph: GraphWriter, x: str, kind: str) -> str:
        """The bend of the feed-forward part."""
        ...

    def int8_linear(self, graph: GraphWriter, x: str, weights: Int8, bias: Numbers, name: str) -> str:
        """A linear layer in whole numbers."""
        ...


class Fused:
    """As onnxruntime computes it fastest."""

    def masking(self, graph: GraphWriter, mask: str) -> Masking:
        least = graph.op("ReduceMin", mask, keepdims=0)
        return Masking(mask, graph.op("Cast", mask, to=_type(np.int32)), graph.op("Cast", least, to=_type(np.bool_)))

    def attention(self, graph: GraphWriter, qkv: Sequence[str], masking: Masking, heads: int, width: int) -> str:
        """Where nothing is hidden, without the mask: only then does onnxruntime go through attention block by block."""
        operator: dict[str, Any] = {"domain": MICROSOFT, "num_heads": heads, "mask_filter_value": HIDDEN}
        attended = graph.choice(
            masking.all_seen,
            lambda branch: branch.op("MultiHeadAttention", *qkv, **operator),
            lambda branch: branch.op("MultiHeadAttention", *qkv, "", masking.hidden, **operator),
        )
        return graph.op("Reshape", attended, graph.integers(-1, width))

    def activation(self, graph: GraphWriter, x: str, kind: str) -> str:
        if kind == "gelu":
            return graph.op("Gelu", x, domain=MICROSOFT)
        return graph.op("FastGelu", x, domain=MICROSOFT) if kind == "gelu_new" else graph.op("Relu", x)

    def int8_linear(self, graph: GraphWriter, x: str, weights: Int8, bias: Numbers, name: str) -> str:
        matrix, scales = graph.constant(weights.rows, f"{name}.int8"), graph.constant(weights.scales)
        if weights.inputs is None:
            zeros = graph.constant(np.zeros_like(weights.scales, dtype=np.int8))
            numbers = graph.constant(bias, f"{name}.bias")
            return graph.op("DynamicQuantizeMatMul", x, matrix, scales, zeros, numbers, domain=MICROSOFT, name=name)
        scale, zero = graph.number(weights.inputs.scale), graph.constant(np.array(weights.inputs.zero, dtype=np.uint8))
        rounded = graph.op("QuantizeLinear", x, scale, zero)
        zeros = graph.constant(np.zeros_like(weights.scales, dtype=np.int8))
        numbers = graph.constant(bias, f"{name}.bias")
        return graph.op(
            "MatMulIntegerToFloat", rounded, matrix, scale, scales, zero, zeros, numbers, domain=MICROSOFT, name=name
        )


class Portable:
    """By standard operators alone."""

    def masking(self, graph: GraphWriter, mask: str) -> Masking:
        unseen = graph.op("Sub", graph.number(1.0), graph.op("Cast", mask, to=_type(np.float32)))
        hidden = graph.op("Unsqueeze", graph.op("Mul", unseen, graph.number(HIDDEN)), graph.integers(1, 2))
        return Masking(mask, hidden)  # (B, 1, 1, S), to be added

    def attention(self, graph: GraphWriter, qkv: Sequence[str], masking: Masking, heads: int, width: int) -> str:
        shape = graph.integers(0, 0, heads, width // heads)  # 0: as it is
        shaped = [graph.op("Reshape", part, shape) for part in qkv]
        query, key, value = (graph.op("Transpose", part, perm=[0, 2, 1, 3]) for part in shaped)  # (B, H, S, K)
        scaled = graph.op("Mul", query, graph.number((width // heads) ** -0.5))
        scores = graph.op("MatMul", scaled, graph.op("Transpose", key, perm=[0, 1, 3, 2]))  # (B, H, S, S)
        weights = graph.op("Softmax", graph.op("Add", scores, masking.hidden), axis=-1)
        attended = graph.op("Transpose", graph.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        return graph.op("Reshape", attended, graph.integers(-1, width))

    def activation(self, graph: GraphWriter, x: str, kind: str) -> str:
        if kind == "relu":
            return graph.op("Relu", x)
        half = graph.op("Mul", x, graph.number(0.5))
        return graph.op("Mul", half, graph.op("Add", self._bend(graph, x, kind), graph.number(1.0)))

    def int8_linear(self, graph: GraphWriter, x: str, weights: Int8, bias: Numbers, name: str) -> str:
        matrix = graph.constant(weights.rows, f"{name}.int8")
        if weights.inputs is None:
            rounded, scale, zero = graph.ops("DynamicQuantizeLinear", x, outputs=3)
        else:
            scale = graph.number(weights.inputs.scale)
            zero = graph.constant(np.array(weights.inputs.zero, dtype=np.uint8))
            rounded = graph.op("QuantizeLinear", x, scale, zero)
        product = graph.op("Cast", graph.op("MatMulInteger", rounded, matrix, zero), to=_type(np.float32))
        scales = graph.op("Mul", scale, graph.constant(weights.scales))
        return graph.op("Add", graph.op("Mul", product, scales), graph.constant(bias, f"{name}.bias"), name=name)

    @staticmethod
    def _bend(graph: GraphWriter, x: str, kind: str) -> str:
        if kind == "gelu":
            return graph.op("Erf", graph.op("Div", x, graph.number(2**0.5)))
        cube = graph.op("Mul", graph.op("Pow", x, graph.number(3.0)), graph.number(0.044715))
        return graph.op("Tanh", graph.op("Mul", graph.op("Add", x, cube), graph.number((2 / np.pi) ** 0.5)))


class Parts:
    """Writes the parts of a model, given its numbers by name."""

    def __init__(self, graph: GraphWriter, numbers: dict[str, Numbers], dialect: Dialect, precision: Precision) -> None:
        self.graph, self.numbers, self.dialect, self.precision = graph, numbers, dialect, precision

    def linear(self, x: str, name: str) -> str:
        """A linear layer, in the precision that is asked for."""  # (T, in) -> (T, out)
        weight, bias = self.numbers[f"{name}.weight"].T, self.numbers[f"{name}.bias"]
        if name in self.precision.linears:
            return self.dialect.int8_linear(self.graph, x, self.precision.rounded(name, weight), bias, name)
        numbers = self.graph.constant(weight, f"{name}.weight"), self.graph.constant(bias, f"{name}.bias")
        return self.graph.op("Gemm", x, *numbers, name=name)

    def norm(self, x: str, name: str, epsilon: float) -> str:
        """A layer norm."""
        numbers = [self.graph.constant(self.numbers[f"{name}.{part}"], f"{name}.{part}") for part in ("weight", "bias")]
        return self.graph.op("LayerNormalization", x, *numbers, axis=-1, epsilon=epsilon, name=name)

    def rows(self, ids: str, name: str) -> str:
        """The rows of an embedding; in int8 they are widened as they are read, each by its own scale."""
        table = self.numbers[f"{name}.weight"]
        if name not in self.precision.tables:
            return self.graph.op("Gather", self.graph.constant(table, f"{name}.weight"), ids, name=name)
        scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127
        small = self.graph.constant(np.rint(table / scales).astype(np.int8), f"{name}.int8")
        wide = self.graph.op("Cast", self.graph.op("Gather", small, ids), to=_type(np.float32))
        return self.graph.op("Mul", wide, self.graph.op("Gather", self.graph.constant(scales), ids), name=name)

    def tied(self, x: str, table: str, bias: str) -> str:
        """The product with a whole embedding table; in int8 it has its own copy, laid out for products."""
        rows, numbers = self.numbers[f"{table}.weight"], self.numbers[bias]
        if table in self.precision.tables:
            return self.dialect.int8_linear(self.graph, x, self.precision.rounded(bias, rows.T), numbers, bias)
        return self.graph.op("Gemm", x, f"{table}.weight", self.graph.constant(numbers, bias), transB=1)


def in_sequences(graph: GraphWriter, x: str, mask: str) -> str:
    """Rows of tokens as sequences again."""  # (T, W) -> (B, S, W)
    shape = graph.op("Concat", graph.op("Shape", mask), graph.integers(-1), axis=0)
    return graph.op("Reshape", x, shape)


def _type(kind: Any) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(kind)))
