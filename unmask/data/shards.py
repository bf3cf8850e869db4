"""Shards, the units of preparing text: files come in, plans go out; a plan comes in, its tokens go into a folder.

A plan says which parts of which files a shard holds; it follows from the text and the shard size alone. A shard follows
from its plan and the tokenizer alone, so shards can be prepared in any order, by any number of processes or machines.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.duplicates import hash_groups, hash_texts
from unmask.data.store import id_type
from unmask.files import atomic_path, write_text
from unmask.text.documents import Lines, sentences_of
from unmask.text.formats import TextRange, cut_ranges, read_range
from unmask.text.tokenizer import Tokenizer
from unmask.text.word_memory import WordMemory

BATCH_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class ShardPlan:
    """The parts of files that make a shard."""

    number: int
    parts: tuple[TextRange, ...]

    @property
    def size(self) -> int:
        """Its bytes of text."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True)
class ShardRecord:
    """What a prepared shard holds; once it is written, the shard is complete."""

    number: int
    documents: int
    sentences: int
    tokens: int
    bytes: int  # of text
    sha256: str  # of the ids


def plan_shards(files: Sequence[Path], *, shard_bytes: int, column: str = "text") -> list[ShardPlan]:
    """Cuts large files between documents, puts small ones together: a shard has about `shard_bytes` of text.

    >>> [plan] = plan_shards([Path(__file__), Path(__file__)], shard_bytes=1 << 20)
    >>> plan.number, len(plan.parts)
    (0, 2)
    """
    plans: list[ShardPlan] = []
    parts: list[TextRange] = []
    filled = 0
    for file in files:
        for part in cut_ranges(TextRange(file, column=column), shard_bytes, first=shard_bytes - filled):
            parts.append(part)
            filled += part.size
            if filled >= shard_bytes:
                plans.append(ShardPlan(len(plans), tuple(parts)))
                parts, filled = [], 0
    return [*plans, ShardPlan(len(plans), tuple(parts))] if parts else plans


# The arrays of a shard before the store is finished, in the order in which a batch gives them.
ARRAYS = ("ids", "sentences", "documents", "sentence_hashes", "document_hashes")


def array_path(folder: Path, number: int, name: str) -> Path:
    """Where an array of a shard is kept until the store is finished."""
    return folder / f"{number:05d}.{name}"


def read_array(folder: Path, number: int, name: str, vocabulary_size: int) -> NDArray[Any]:
    """An array of a prepared shard, mapped into memory."""
    path = array_path(folder, number, name)
    number_type = _number_type(name, vocabulary_size)
    return np.memmap(path, number_type, "r") if path.stat().st_size else np.empty(0, number_type)


def _number_type(name: str, vocabulary_size: int) -> np.dtype[Any]:
    if name == "ids":
        return id_type(vocabulary_size)
    return np.dtype("<u8" if name.endswith("hashes") else "<u4")


def read_record(folder: Path, number: int) -> ShardRecord | None:
    """The record of a shard that is complete."""
    path = array_path(folder, number, "json")
    return ShardRecord(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


class ShardPreparer:
    """Prepares shards in a folder, one after another, with a memory of words that grows with each.

    The arrays of a shard are its ids, the lengths of sentences in tokens and of documents in sentences, and the hashes
    of both. Sentences in which the tokenizer sees nothing are left out.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, *, lines: Lines = "auto") -> None:
        self._folder, self._lines, self._size = folder, lines, tokenizer.size
        self._memory = WordMemory(tokenizer)

    def prepare(self, plan: ShardPlan) -> ShardRecord:
        """Tokenises a shard in bounded memory and writes its arrays, then its record."""
        counts = dict.fromkeys(ARRAYS, 0)
        digest = hashlib.sha256()
        with ExitStack() as stack:
            paths = [stack.enter_context(atomic_path(array_path(self._folder, plan.number, name))) for name in ARRAYS]
            files = [stack.enter_context(path.open("wb")) for path in paths]
            for batch in self._batches(plan):
                for name, file, array in zip(ARRAYS, files, self._arrays(batch), strict=True):
                    content = array.astype(_number_type(name, self._size)).tobytes()
                    counts[name] += len(array)
                    file.write(content)
                    if name == "ids":
                        digest.update(content)
        found = (counts["documents"], counts["sentences"], counts["ids"])
        record = ShardRecord(plan.number, *found, plan.size, digest.hexdigest())
        write_text(array_path(self._folder, plan.number, "json"), json.dumps(asdict(record)))
        return record

    def _batches(self, plan: ShardPlan) -> Iterator[list[list[str]]]:
        """Documents, as lists of sentences, of about a million characters at a time."""
        batch, filled = [], 0
        for text in (text for part in plan.parts for text in read_range(part)):
            if sentences := sentences_of(text.text, lines=self._lines):
                batch.append(sentences)
                filled += len(text.text)
            if filled >= BATCH_CHARACTERS:
                yield batch
                batch, filled = [], 0
        if batch:
            yield batch

    def _arrays(self, batch: list[list[str]]) -> tuple[NDArray[Any], ...]:
        sentences = [sentence for document in batch for sentence in document]
        ids, lengths = self._memory.encode(sentences)
        kept = lengths > 0
        documents = group_sums(kept, [len(document) for document in batch])
        documents = documents[documents > 0]
        hashes = hash_texts(sentences)[kept]
        return ids, lengths[kept], documents, hashes, hash_groups(hashes, documents)


def group_sums(values: NDArray[Any], lengths: Sequence[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    """The sum of each group of values that follow one another.

    >>> group_sums(np.array([True, False, True]), [2, 0, 1]).tolist()
    [1, 0, 1]
    """
    running = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    borders = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    sums: NDArray[np.int64] = np.diff(running[borders])
    return sums
