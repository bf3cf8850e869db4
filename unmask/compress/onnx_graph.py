"""An ONNX graph as it is written down: operators and numbers are put in one after another, the model comes out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

OPSET = 17  # the first with LayerNormalization; every runtime of today reads it
IR_VERSION = 8  # of the file, as opset 17 came with
MICROSOFT = "com.microsoft"  # the domain of onnxruntime's own operators
LARGEST = 2_000_000_000  # bytes that one file can hold (protobuf's limit is 2 GiB)

Shape = Sequence[int | str]  # a word stands for a size that is known when the model is run


class GraphWriter:
    """Writes a graph; a value is known by its name.

    >>> graph = GraphWriter()
    >>> graph.input("x", np.float32, ["rows", 2])
    'x'
    >>> graph.output("y", graph.op("Gemm", "x", graph.constant(np.eye(2, dtype=np.float32))), np.float32, ["rows", 2])
    >>> [node.op_type for node in graph.model({}).graph.node]
    ['Gemm', 'Identity']
    """

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, kind: type[np.generic], shape: Shape) -> str:
        """An input of the model."""
        self.inputs.append(_value(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: type[np.generic], shape: Shape) -> None:
        """Gives a value to the world under a name."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self.outputs.append(_value(name, kind, shape))

    def constant(self, array: NDArray[Any], name: str = "") -> str:
        """Numbers of the model; those that have a name of their own are written once, however many use them."""
        name = name or f"constant_{len(self.constants)}"
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def integers(self, *numbers: int) -> str:
        """A list of whole numbers, such as axes or a shape."""
        return self.constant(np.array(numbers, dtype=np.int64))

    def number(self, number: float) -> str:
        """One number."""
        return self.constant(np.array(number, dtype=np.float32))

    def op(self, kind: str, *inputs: str, domain: str = "", name: str = "", **attributes: Any) -> str:
        """What an operator makes of values."""
        return self.ops(kind, *inputs, outputs=1, domain=domain, name=name, **attributes)[0]

    def ops(
        self, kind: str, *inputs: str, outputs: int, domain: str = "", name: str = "", **attributes: Any
    ) -> list[str]:
        """The same of an operator that makes several values."""
        if not name or any(node.name == name for node in self.nodes):
            name = f"{name or kind}_{len(self.nodes)}"
        made = [f"{name}:{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=name, domain=domain, **attributes))
        return made

    def choice(
        self, condition: str, then: "Callable[[GraphWriter], str]", other: "Callable[[GraphWriter], str]"
    ) -> str:
        """What one of two branches makes of this graph's values, by a condition that is known when the model is run."""
        branches = {"then_branch": self._branch(then), "else_branch": self._branch(other)}
        return self.op("If", condition, **branches)

    def _branch(self, write: "Callable[[GraphWriter], str]") -> onnx.GraphProto:
        branch = GraphWriter()
        output = helper.make_tensor_value_info(write(branch), onnx.TensorProto.FLOAT, None)
        return helper.make_graph(branch.nodes, "branch", [], [output], list(branch.constants.values()))

    def model(self, metadata: Mapping[str, str]) -> onnx.ModelProto:
        """The graph as a whole, with what it says of itself."""
        graph = helper.make_graph(self.nodes, "bert", self.inputs, self.outputs, list(self.constants.values()))
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == MICROSOFT for node in all_nodes(graph)):
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="unmask")
        helper.set_model_props(model, dict(metadata))
        return model


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Every operator of a graph, those in branches too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(attribute.g)


def _value(name: str, kind: type[np.generic], shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), list(shape))
