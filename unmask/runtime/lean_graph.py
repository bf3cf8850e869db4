"""A model file without an output that nobody reads: its bytes in, those of the same model without it out.

onnxruntime computes every output of a graph, whichever is asked for. So an output that costs much, and all operators
that serve it alone, are left out before the file is opened. An ONNX file is a protobuf message, a row of fields, each
with its number and length: they are read here as such, since `onnx` is not part of an installation that only answers.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

from unmask.model.protobuf import BYTES, FIXED32, FIXED64, VARINT, read_varint, write_varint

# Numbers of the fields that are read, from onnx.proto
GRAPH = 7  # of a model
NODE, OUTPUT = 1, 12  # of a graph
INPUTS, OUTPUTS, ATTRIBUTE = 1, 2, 5  # of a node
BRANCH = 6  # of an attribute
NAME = 1  # of a value

SIZES = {FIXED32: 4, FIXED64: 8}

Field = tuple[int, memoryview, memoryview]  # its number, what it holds, and all of it as it stands


def without_output(model: Path | bytes, name: str) -> bytes:
    """The model without one of its outputs, and without the operators that nothing else needs."""
    parts: list[bytes | memoryview] = []
    for number, content, whole in _fields(_view(model)):
        if number == GRAPH:
            graph = _lean(content, name)
            parts += [write_varint(GRAPH << 3 | BYTES), write_varint(sum(map(len, graph))), *graph]
        else:
            parts.append(whole)
    return b"".join(parts)


def _lean(graph: memoryview, name: str) -> list[memoryview]:
    """The fields of a graph without an output; operators stand in the order in which they are computed."""
    kept: list[memoryview] = []
    fields = list(_fields(graph))
    needed = {_name(content) for number, content, _ in fields if number == OUTPUT} - {name}
    for number, content, whole in reversed(fields):
        if number == NODE:
            if needed.isdisjoint(_strings(content, OUTPUTS)):
                continue
            needed.update(_read_by(content))
        elif number == OUTPUT and _name(content) == name:
            continue
        kept.append(whole)
    return kept[::-1]


def _read_by(node: memoryview) -> Iterator[str]:
    """The values that an operator reads, in its branches too."""
    yield from _strings(node, INPUTS)
    for attribute in _all(node, ATTRIBUTE):
        for branch in _all(attribute, BRANCH):
            for inner in _all(branch, NODE):
                yield from _read_by(inner)


def _name(value: memoryview) -> str:
    return next(_strings(value, NAME), "")


def _strings(message: memoryview, number: int) -> Iterator[str]:
    return (str(content, "utf-8") for content in _all(message, number))


def _all(message: memoryview, wanted: int) -> Iterator[memoryview]:
    return (content for number, content, _ in _fields(message) if number == wanted)


def _fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message, in their order.

    >>> [(number, bytes(content)) for number, content, _ in _fields(memoryview(bytes([8, 5, 18, 2, 104, 105])))]
    [(1, b'\\x05'), (2, b'hi')]
    """
    place = 0
    while place < len(message):
        key, begin = read_varint(message, place)
        kind = key & 7
        if kind == BYTES:
            length, begin = read_varint(message, begin)
            end = begin + length
        else:
            end = read_varint(message, begin)[1] if kind == VARINT else begin + SIZES[kind]
        yield key >> 3, message[begin:end], message[place:end]
        place = end


def _view(model: Path | bytes) -> memoryview:
    """A file's bytes, read from the disk as they are needed."""
    if isinstance(model, bytes):
        return memoryview(model)
    with model.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
