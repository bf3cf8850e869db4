"""Prepared shards put together: their arrays come in; the files of the store, and what store.json says of them, go out.

Duplicates are told by the hashes of all shards, in the order of the text: the first of its kind is never a duplicate.
Where they are dropped, a sentence that stood anywhere before goes, and a document of which nothing is left goes too.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.data.duplicates import first_positions
from unmask.data.shards import ShardRecord, array_path, group_sums, read_array
from unmask.data.store import DOCUMENTS, SENTENCES
from unmask.files import atomic_path, sha256


class Shard(NamedTuple):
    """A finished shard: what it holds, the lengths of its sentences in tokens and of its documents in sentences."""

    record: ShardRecord
    sentences: NDArray[np.uint32]
    documents: NDArray[np.integer]


def assemble(
    folder: Path, parts: Path, records: Sequence[ShardRecord], *, vocabulary_size: int, drop_duplicates: bool
) -> dict[str, Any]:
    """Finishes the shards of `parts` in `folder`; may be interrupted and run again."""

    def arrays(name: str) -> list[NDArray[Any]]:
        return [read_array(parts, record.number, name, vocabulary_size) for record in records]

    firsts = _mark_firsts(parts, arrays("sentence_hashes")) if drop_duplicates else None
    names = [f"shard-{record.number:05d}.ids" for record in records]
    shards, short_documents = [], 0
    with _offsets(folder / SENTENCES) as sentences, _offsets(folder / DOCUMENTS) as documents:
        for place, (record, name) in enumerate(zip(records, names, strict=True)):
            shard = Shard(record, *(read_array(parts, record.number, kind, vocabulary_size) for kind in KINDS))
            if firsts is None:
                _move(array_path(parts, record.number, "ids"), folder / name)
            else:
                ids = read_array(parts, record.number, "ids", vocabulary_size)
                shard = _keep(shard, ids, firsts[place], folder / name)
            sentences.add(shard.sentences)
            documents.add(shard.documents)
            short_documents += int(np.count_nonzero(shard.documents < 2))
            shards.append(shard.record)
    return {
        "documents": sum(record.documents for record in shards),
        "sentences": sum(record.sentences for record in shards),
        "tokens": sum(record.tokens for record in shards),
        "bytes": sum(record.bytes for record in shards),
        "duplicate_documents": _count_repeated(arrays("document_hashes")),
        "duplicate_sentences": _count_repeated(arrays("sentence_hashes")),
        "short_documents": short_documents,
        "offsets": {name: sha256(folder / name) for name in (SENTENCES, DOCUMENTS)},
        "shards": [_describe(record, name) for record, name in zip(shards, names, strict=True)],
    }


KINDS = ("sentences", "documents")


def _describe(record: ShardRecord, name: str) -> dict[str, Any]:
    counts = {"documents": record.documents, "sentences": record.sentences, "tokens": record.tokens}
    return {"file": name, "sha256": record.sha256, **counts}


def _count_repeated(hashes: Sequence[NDArray[np.uint64]]) -> int:
    return sum(map(len, hashes)) - sum(len(positions) for _, positions in first_positions(hashes))


def _mark_firsts(parts: Path, hashes: Sequence[NDArray[np.uint64]]) -> list[NDArray[np.bool_]]:
    """For every sentence whether it is the first of its kind; on the disk, where there is room for all."""
    masks = [
        np.memmap(parts / f"{place:05d}.first", np.bool_, "w+", shape=part.shape)
        if len(part)
        else np.zeros(0, np.bool_)
        for place, part in enumerate(hashes)
    ]
    for place, positions in first_positions(hashes):
        masks[place][positions] = True
    return masks


def _move(part: Path, target: Path) -> None:
    if part.exists():  # else it was moved before an interruption
        os.replace(part, target)


def _keep(shard: Shard, ids: NDArray[Any], kept: NDArray[np.bool_], target: Path) -> Shard:
    """Writes the ids of the sentences kept and says what is left of the shard."""
    ids = ids[np.repeat(kept, shard.sentences)]
    sentences = shard.sentences[kept]
    documents = group_sums(kept, shard.documents)
    documents = documents[documents > 0]
    with atomic_path(target) as temporary:
        temporary.write_bytes(ids.tobytes())
    counts = {"documents": len(documents), "sentences": len(sentences), "tokens": len(ids)}
    return Shard(replace(shard.record, **counts, sha256=sha256(target)), sentences, documents)


class _Offsets:
    """A file that grows by running sums."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._last = file, 0
        self._file.write(np.zeros(1, "<i8").tobytes())

    def add(self, lengths: NDArray[np.integer]) -> None:
        offsets = self._last + np.cumsum(lengths, dtype=np.int64)
        self._last = int(offsets[-1]) if len(offsets) else self._last
        self._file.write(offsets.astype("<i8").tobytes())


@contextmanager
def _offsets(path: Path) -> Iterator[_Offsets]:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield _Offsets(file)
