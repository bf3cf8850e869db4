"""Texts as vectors: the encoder's hidden states of chosen layers, one vector for each text, or one for each piece.

Layer 0 is the embeddings, 1 the first layer, -1 the last; the states of several layers are put side by side, in the
order asked for. Pooling takes in all pieces of a text, [CLS] and [SEP] too, as published sentence encoders do.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.apps.reading import Reading, Report, read
from unmask.data.batches import batches_by_length
from unmask.data.ragged import Integers, Ragged
from unmask.errors import InputError
from unmask.files import atomic_path
from unmask.model.bert import Bert, Encoded
from unmask.model.heads import BertWithHead, pool
from unmask.text.tokenizer import Tokenizer

Vectors = NDArray[np.float32]
POOLINGS = ("mean", "cls", "max")


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
    """Takes vectors from an encoder.

    >>> from unmask.model.config import BertConfig
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "rain", "snow"])
    >>> features = Features(Bert(BertConfig.named("tiny", vocabulary_size=tokenizer.size)), tokenizer)
    >>> features(["rain", "snow rain"], layers=(-1, -2)).vectors.shape
    (2, 256)
    >>> [vectors.shape for vectors in features.pieces(["snow rain"]).vectors]
    [(4, 128)]
    """

    def __init__(self, model: Bert | BertWithHead, tokenizer: Tokenizer) -> None:
        self.bert = model.bert if isinstance(model, BertWithHead) else model
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
        for which, _, encoded in self._encode(readings, report):
            vectors[which] = _numpy(pool(self._side_by_side(encoded, layers), encoded, pooling))
        return TextVectors(tuple(layers), pooling, vectors, tuple(reading.cut for reading in readings))

    def pieces(
        self, texts: str | Sequence[str], *, layers: Sequence[int] = (-1,), report: Report | None = None
    ) -> PieceVectors:
        """One vector for each piece of each text, in the order given."""
        readings = self._read(texts)
        width = self._width(layers)
        vectors: list[Vectors] = [np.empty((0, width), np.float32)] * len(readings)
        for which, batch, encoded in self._encode(readings, report):
            for i, rows in zip(which, batch.split(_numpy(self._side_by_side(encoded, layers))), strict=True):
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
        return read(self.tokenizer, texts, longest=self.bert.config.positions)

    def _encode(self, readings: Sequence[Reading], report: Report | None) -> Iterator[tuple[Integers, Ragged, Encoded]]:
        done, total = 0, sum(len(reading.encoding.ids) for reading in readings)
        for which, batch in batches_by_length([reading.encoding.ids for reading in readings]):
            with torch.inference_mode():
                encoded = self.bert(batch, keep_layers=True)
            yield which, batch, encoded
            done += len(batch.ids)
            if report is not None:
                report(done, total)

    def _width(self, layers: Sequence[int]) -> int:
        highest = self.bert.config.layers
        for layer in layers:
            if not -highest - 1 <= layer <= highest:
                raise InputError(
                    f"layer {layer}", wanted=f"0 (embeddings) to {highest}, or -1 (the last) to {-highest - 1}"
                )
        if not layers:
            raise InputError("no layers", wanted="at least one, for instance -1")
        return len(layers) * self.bert.config.width

    def _side_by_side(self, encoded: Encoded, layers: Sequence[int]) -> torch.Tensor:
        """The chosen layers of every token."""  # (T, layers · D)
        return torch.cat([encoded.layers[layer] for layer in layers], -1)


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


def _numpy(rows: torch.Tensor) -> Vectors:
    array: Vectors = rows.float().cpu().numpy()
    return array
