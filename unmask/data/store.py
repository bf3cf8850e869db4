"""The token store: a folder of ids, tokenised once, that is mapped into memory and read at any place at once.

    store.json        what it was made from and with, counts, a SHA-256 of every file
    shard-00000.ids   piece ids, uint16 (uint32 beyond 65,536 pieces), of all sentences end to end; shard-00001.ids …
    sentences.i64     at which token each sentence begins, and the end: int64, over all shards
    documents.i64     at which sentence each document begins, and the end
    vocab.txt …       the tokenizer, so that the store describes itself

All numbers are little-endian. `prepare.py` writes it; this file opens it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.files import sha256
from unmask.text.tokenizer import Tokenizer

DESCRIPTION, SENTENCES, DOCUMENTS = "store.json", "sentences.i64", "documents.i64"
FORMAT, VERSION = "unmask store", 1


def id_type(vocabulary_size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest of the two number types that holds every id.

    >>> id_type(65_536), id_type(65_537)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<u4")


@dataclass(frozen=True)
class Store:
    """An open store. Nothing is read until it is asked for; sentences and tokens are counted over all shards."""

    folder: Path
    description: dict[str, Any]  # store.json
    document_sentences: NDArray[np.int64]  # (documents + 1,) the first sentence of each document, and the end
    sentence_tokens: NDArray[np.int64]  # (sentences + 1,) the first token of each sentence, and the end
    shards: tuple[NDArray[np.unsignedinteger], ...]
    shard_tokens: NDArray[np.int64]  # (shards + 1,) the first token of each shard, and the end

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """Maps a store into memory; its files must be there in their full size."""
        folder = Path(folder)
        description = read_description(folder)
        counts = [shard["tokens"] for shard in description["shards"]]
        number = id_type(description["vocabulary_size"])
        return cls(
            folder=folder,
            description=description,
            document_sentences=_mapped(folder / DOCUMENTS, np.dtype("<i8"), description["documents"] + 1),
            sentence_tokens=_mapped(folder / SENTENCES, np.dtype("<i8"), description["sentences"] + 1),
            shards=tuple(_mapped(folder / s["file"], number, s["tokens"]) for s in description["shards"]),
            shard_tokens=np.cumsum([0, *counts], dtype=np.int64),
        )

    @property
    def document_count(self) -> int:
        """How many documents there are."""
        return len(self.document_sentences) - 1

    @property
    def sentence_count(self) -> int:
        """How many sentences there are."""
        return len(self.sentence_tokens) - 1

    @property
    def token_count(self) -> int:
        """How many tokens there are."""
        return int(self.shard_tokens[-1])

    @property
    def vocabulary_hash(self) -> str:
        """The hash of the vocabulary and casing settings that the text was tokenised with."""
        return str(self.description["vocabulary_hash"])

    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the text was tokenised with."""
        return Tokenizer.load(self.folder)

    def tokens(self, start: int, stop: int) -> NDArray[np.unsignedinteger]:
        """The ids of tokens start to stop; a view of the disk where they lie in one shard."""
        first = int(np.searchsorted(self.shard_tokens, start, side="right")) - 1
        last = int(np.searchsorted(self.shard_tokens, stop, side="left")) - 1
        if first >= last:
            begin = self.shard_tokens[min(first, len(self.shards) - 1)]
            return self.shards[min(first, len(self.shards) - 1)][start - begin : stop - begin]
        parts = zip(self.shards[first : last + 1], self.shard_tokens[first : last + 1], strict=True)
        return np.concatenate([ids[max(start - begin, 0) : stop - begin] for ids, begin in parts])

    def verify(self) -> None:
        """Reads every file and compares its checksum; a damaged one is an error that names it."""
        files = dict(self.description["offsets"]) | {s["file"]: s["sha256"] for s in self.description["shards"]}
        for name, expected in files.items():
            if sha256(self.folder / name) != expected:
                raise _damaged(self.folder / name, "its checksum is another")
        if self.tokenizer().vocabulary_hash != self.vocabulary_hash:
            raise _damaged(self.folder / "vocab.txt", "its vocabulary is another")


def read_description(folder: Path) -> dict[str, Any]:
    """What store.json says, if it is one that this version reads."""
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        do = "make one with: unmask prepare TEXT… -o STORE --vocab VOCAB"
        raise InputError(f"{folder}, which is no store", wanted=f"a folder with {DESCRIPTION}", do=do) from None
    except ValueError as error:
        raise _damaged(folder / DESCRIPTION, str(error)) from None
    if not isinstance(description, dict) or (description.get("format"), description.get("version")) != (
        FORMAT,
        VERSION,
    ):
        raise InputError(f"{folder}, a store of another version", wanted=f"version {VERSION}", do="prepare it again")
    return description


def _mapped(path: Path, number: np.dtype[Any], count: int) -> NDArray[Any]:
    size = path.stat().st_size if path.is_file() else 0
    if size != count * number.itemsize:
        raise _damaged(path, f"{size} bytes where {count * number.itemsize} belong")
    # as a plain array, whose slices are made faster; an empty file cannot be mapped
    return np.asarray(np.memmap(path, number, "r")) if count else np.empty(0, number)


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path}, which is damaged: {why}", wanted="an intact store", do="remove it and prepare it again")
