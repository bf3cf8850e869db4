"""Texts as vectors: the encoder's hidden states of chosen layers, one vector for each text, or one for each piece.

Layer 0 is the embeddings, 1 the first layer, -1 the last; the states of several layers are put side by side, in the
order asked for. Pooling takes in all pieces of a text, [CLS] and [SEP] too, as published sentence encoders do.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from unmask.apps.reading import Reading, Report, read
from unmask.data.batches import batches_by_length
from unmask.data.ragged import Integers, Ragged
from unmask.errors import InputError
from unmask.files import atomic_path
from unmask.runtime.folder import ServingFolder
from unmask.runtime.pretrained import ServedStates
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.apps.pretrained import States
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead

Vectors = NDArray[np.float32]
# name: the states of every token and where sequences begin -> one vector for each sequence, in the batch's order
POOLINGS: dict[str, Callable[[Vectors, Ragged], Vectors]] = {
    "mean": lambda states, batch: (np.add.reduceat(states, batch.starts) / batch.lengths[:, None]).astype(np.float32),
    "cls": lambda states, batch: states[batch.starts],
    "max": lambda states, batch: np.maximum.reduceat(states, batch.starts),
}


@dataclass(frozen=True)
class TextVectors:
    """One vector for each text."""

    layers: tuple[int, ...]
    pooling: str
    vectors: Vectors  # (texts, layers · D)
    cuts: tuple[int | None, ...]  # for each text the character from which on it was too long to be read

    def describe(self) -> dict[str, Any]:
        """What the numbers are, without the numbers."""
        return {"layers": list(self.layers), "pooling": self.pooling, "width": self.vectors.shape[1]}

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return self.describe() | {"vectors": self.vectors.tolist()}


@dataclass(frozen=True)
class PieceVectors:
    """One vector for each piece of each text, [CLS] and [SEP] included."""

    layers: tuple[int, ...]
    pieces: tuple[tuple[str, ...], ...]
    offsets: tuple[tuple[tuple[int, int], ...], ...]
    vectors: tuple[Vectors, ...]  # for each text (S, layers · D)
    cuts: tuple[int | None, ...]

    def describe(self) -> dict[str, Any]:
        """What the numbers are, without the numbers."""
        return {"layers": list(self.layers), "pooling": None, "width": self.vectors[0].shape[1]}

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return self.describe() | {
            "pieces": [list(pieces) for pieces in self.pieces],
            "offsets": [[list(offset) for offset in offsets] for offsets in self.offsets],
            "vectors": [vectors.tolist() for vectors in self.vectors],
        }


class Features:
    """Takes vectors from an encoder, open in torch or exported.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "rain", "snow"])
    >>> features = Features(Bert(BertConfig.named("tiny", vocabulary_size=tokenizer.size)), tokenizer)
    >>> features(["rain", "snow rain"], layers=(-1, -2)).vectors.shape
    (2, 256)
    >>> [vectors.shape for vectors in features.pieces(["snow rain"]).vectors]
    [(4, 128)]
    """

    def __init__(self, model: "Bert | BertWithHead | ServingFolder", tokenizer: Tokenizer) -> None:
        self.states = states_of(model)
        self.tokenizer = tokenizer

    def __call__(
        self,
        texts: str | Sequence[str],
        *,
        layers: Sequence[int] = (-1,),
        pooling: str = "mean",
        report: Report | None = None,
    ) -> TextVectors:
        """One vector for each text, in the order given."""
        if pooling not in POOLINGS:
            raise InputError(f"pooling {pooling!r}", wanted=" or ".join(POOLINGS))
        readings = self._read(texts)
        vectors = np.empty((len(readings), self._width(layers)), np.float32)
        for which, batch, states in self._encode(readings, layers, report):
            vectors[which] = POOLINGS[pooling](states, batch)
        return TextVectors(tuple(layers), pooling, vectors, tuple(reading.cut for reading in readings))

    def pieces(
        self, texts: str | Sequence[str], *, layers: Sequence[int] = (-1,), report: Report | None = None
    ) -> PieceVectors:
        """One vector for each piece of each text, in the order given."""
        readings = self._read(texts)
        width = self._width(layers)
        vectors: list[Vectors] = [np.empty((0, width), np.float32)] * len(readings)
        for which, batch, states in self._encode(readings, layers, report):
            for i, rows in zip(which, batch.split(states), strict=True):
                vectors[i] = cast(Vectors, rows)
        return PieceVectors(
            tuple(layers),
            tuple(reading.encoding.pieces for reading in readings),
            tuple(reading.encoding.offsets for reading in readings),
            tuple(vectors),
            tuple(reading.cut for reading in readings),
        )

    def _read(self, texts: str | Sequence[str]) -> list[Reading]:
        texts = [texts] if isinstance(texts, str) else texts
        if not texts:
            raise InputError("no texts", wanted="at least one")
        return read(self.tokenizer, texts, longest=self.states.config.positions)

    def _encode(
        self, readings: Sequence[Reading], layers: Sequence[int], report: Report | None
    ) -> Iterator[tuple[Integers, Ragged, Vectors]]:
        """Batches of texts, and the chosen layers of each of their tokens."""
        done, total = 0, sum(len(reading.encoding.ids) for reading in readings)
        for which, batch in batches_by_length([reading.encoding.ids for reading in readings]):
            yield which, batch, self.states(batch, layers)
            done += len(batch.ids)
            if report is not None:
                report(done, total)

    def _width(self, layers: Sequence[int]) -> int:
        highest = self.states.config.layers
        for layer in layers:
            if not -highest - 1 <= layer <= highest:
                raise InputError(
                    f"layer {layer}", wanted=f"0 (embeddings) to {highest}, or -1 (the last) to {-highest - 1}"
                )
        if not layers:
            raise InputError("no layers", wanted="at least one, for instance -1")
        return len(layers) * self.states.config.width


def states_of(model: "Bert | BertWithHead | ServingFolder") -> "States | ServedStates":
    """The hidden states of a model's encoder, open in torch or exported."""
    if isinstance(model, ServingFolder):
        return ServedStates.of(model)
    from unmask.apps.pretrained import States

    return States(model)


def save_vectors(answer: TextVectors | PieceVectors, texts: Sequence[str], path: Path) -> None:
    """Writes vectors as `.npy` (one row for each text) or as `.jsonl` (one line for each text)."""
    check_ending(path, pieces=isinstance(answer, PieceVectors))
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        if path.suffix == ".npy":
            np.save(file, cast(Vectors, answer.vectors))
        else:
            file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in _rows(answer, texts))


def check_ending(path: Path, *, pieces: bool) -> None:
    """Refuses a file that vectors cannot be written to; worth asking before the work.

    >>> check_ending(Path("vectors.npy"), pieces=False)
    """
    if path.suffix not in ((".jsonl",) if pieces else (".npy", ".jsonl")):
        raise InputError(f"output {path.name}", wanted="a .jsonl file" if pieces else "a .npy or .jsonl file")


def _rows(answer: TextVectors | PieceVectors, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    if isinstance(answer, TextVectors):
        for text, vector in zip(texts, answer.vectors, strict=True):
            yield {"text": text, "vector": vector.tolist()}
    else:
        columns = zip(texts, answer.pieces, answer.offsets, answer.vectors, strict=True)
        for text, pieces, offsets, vectors in columns:
            yield {"text": text, "pieces": pieces, "offsets": offsets, "vectors": vectors.tolist()}
