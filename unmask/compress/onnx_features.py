"""What reads a frozen encoder's layers, as ONNX operators: chosen layers in, a vector for each token out.

The counterpart of `unmask.model.feature_heads` without its classifier. ONNX orders an LSTM's gates input, output,
forget, cell; torch has them input, forget, cell, output.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from unmask.compress.onnx_graph import GraphWriter
from unmask.compress.onnx_parts import Numbers, in_sequences

GATES = (0, 3, 1, 2)  # of torch's order, in ONNX's
DIRECTIONS = ("", "_reverse")


def draw_reader(graph: GraphWriter, numbers: Mapping[str, Numbers], layers: Sequence[str], mask: str) -> str:
    """The chosen layers as one, then through whatever LSTMs the head has."""  # (T, D) each -> (T, W)
    x = _as_one(graph, numbers, layers)
    number = 0
    while f"head.lstm.{number}.weight_ih_l0" in numbers:
        x = _read_both_ways(graph, numbers, x, mask, f"head.lstm.{number}")
        number += 1
    return x


def _as_one(graph: GraphWriter, numbers: Mapping[str, Numbers], layers: Sequence[str]) -> str:
    """Layers mixed by their learned weights, or side by side."""
    if "head.mix.weights" not in numbers:
        return layers[0] if len(layers) == 1 else graph.op("Concat", *layers, axis=1)
    weights = np.exp(numbers["head.mix.weights"] - numbers["head.mix.weights"].max())
    shares = (weights / weights.sum() * numbers["head.mix.scale"]).tolist()
    parts = [graph.op("Mul", layer, graph.number(share)) for layer, share in zip(layers, shares, strict=True)]
    return parts[0] if len(parts) == 1 else graph.op("Sum", *parts)


def _read_both_ways(graph: GraphWriter, numbers: Mapping[str, Numbers], x: str, mask: str, name: str) -> str:
    """What an LSTM says of each token, reading its sequence from either end; what lies behind the end is not read."""
    by_place = graph.op("Transpose", in_sequences(graph, x, mask), perm=[1, 0, 2])  # (S, B, W)
    lengths = graph.op(
        "Cast", graph.op("ReduceSum", mask, graph.integers(1), keepdims=0), to=onnx.TensorProto.INT32
    )  # (B,)
    inputs, states = (_both(numbers, name, part) for part in ("weight_ih_l0", "weight_hh_l0"))  # (2, 4W', ·)
    biases = np.concatenate([_both(numbers, name, part) for part in ("bias_ih_l0", "bias_hh_l0")], axis=1)  # (2, 8W')
    constants = [graph.constant(part) for part in (inputs, states, biases)]
    width = states.shape[2]
    said = graph.op("LSTM", by_place, *constants, lengths, direction="bidirectional", hidden_size=width)
    sequences = graph.op("Transpose", said, perm=[2, 0, 1, 3])  # (S, 2, B, W') -> (B, S, 2, W')
    return graph.op("Reshape", sequences, graph.integers(-1, 2 * width))


def _both(numbers: Mapping[str, Numbers], name: str, part: str) -> Numbers:
    """A parameter of both directions, its gates in ONNX's order."""
    sides = [np.split(numbers[f"{name}.{part}{direction}"], 4) for direction in DIRECTIONS]
    return np.stack([np.concatenate([gates[place] for place in GATES]) for gates in sides])
