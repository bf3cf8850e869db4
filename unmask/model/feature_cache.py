"""Features of rows, computed once: a frozen encoder's chosen layers on disk, and a model that learns from them.

Rows and an encoder come in; a file of float16 numbers, mapped into memory, gives the features of any batch of those
rows. The file holds every distinct row once and is found by its content, so batches need not say where they are from.
"""

import errno
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unmask.data.batches import BATCH_TOKENS, batches_by_length
from unmask.data.ragged import Ragged
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.files import atomic_path
from unmask.model.bert import Bert
from unmask.model.dropout import Chance
from unmask.model.feature_heads import FeatureHead
from unmask.model.heads import BertWithHead

Report = Callable[[int, int], None]  # told after each batch: tokens done, tokens in all


class FeatureCache:
    """The chosen layers of every token of some rows, in a file of the given folder."""

    def __init__(
        self, folder: Path, bert: Bert, layers: Sequence[int], rows: Sequence[Row], report: Report = lambda *_: None
    ) -> None:
        self.bert, self.layers, self.report = bert, tuple(layers), report
        distinct = {row_key(row.ids, row.segments): row for row in rows}
        self.rows = sorted(distinct.values(), key=lambda row: len(row.ids))
        self.starts: dict[bytes, int] = {}
        self.tokens = 0
        for row in self.rows:
            self.starts[row_key(row.ids, row.segments)] = self.tokens
            self.tokens += len(row.ids)
        self.path = folder / f"features.{self._key()}"

    @cached_property
    def stored(self) -> NDArray[np.float16]:
        """The features of all tokens, computed when first asked for or in an earlier sitting."""  # (tokens, L, D)
        if not self.path.exists():
            self._fill()
        return np.memmap(self.path, np.float16, "r", shape=(self.tokens, len(self.layers), self.bert.config.width))

    @property
    def bytes(self) -> int:
        """How large the file is."""
        return self.tokens * len(self.layers) * self.bert.config.width * np.dtype(np.float16).itemsize

    def _fill(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(self.path.parent).free < self.bytes:  # before hours of work are lost
            raise self._no_room()
        try:
            with atomic_path(self.path) as temporary, temporary.open("wb") as file:
                for done, features in self._computed():
                    file.write(features.astype(np.float16).data)
                    self.report(done, self.tokens)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise self._no_room() from error

    def _no_room(self) -> InputError:
        wanted = f"{self.bytes / 1e9:.1f} GB for features in {self.path.parent}"
        return InputError("a disk that is too full", wanted=wanted, do="make room, or choose fewer layers or examples")

    def features(self, batch: Ragged) -> Tensor:
        """The features of a batch of rows that are all in the cache."""  # (T, L, D)
        parts = []
        for start, length in zip(batch.starts, batch.lengths, strict=True):
            own = slice(start, start + length)
            place = self.starts[row_key(batch.ids[own], batch.segments[own])]
            parts.append(self.stored[place : place + length])
        return torch.from_numpy(np.concatenate(parts).astype(np.float32))

    def remove(self) -> None:
        """Gives the disk back."""
        self.path.unlink(missing_ok=True)

    def _computed(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Tokens done and the features of each batch, in the order of the rows."""
        done = 0
        self.bert.eval()
        ids, segments = [row.ids for row in self.rows], [row.segments for row in self.rows]
        for _, batch in batches_by_length(ids, segments, tokens=BATCH_TOKENS):
            with torch.inference_mode():
                layers = self.bert(batch, keep_layers=True).layers
            done += len(batch.ids)
            yield done, torch.stack([layers[number] for number in self.layers], dim=1).float().cpu().numpy()

    def _key(self) -> str:
        """A name for the model and the data together."""
        found = hashlib.sha256(repr(self.layers).encode())
        for value in self.bert.state_dict().values():
            found.update(value.detach().cpu().contiguous().numpy().data)
        for key in self.starts:
            found.update(key)
        return found.hexdigest()[:16]


class CachedFeatures(nn.Module):
    """A model that reads features from a cache while its head learns: a BertWithHead to the loop and to outputs_of.

    Only the head is part of it, so checkpoints hold no encoder.
    """

    def __init__(self, head: FeatureHead, cache: FeatureCache) -> None:
        super().__init__()
        self.head, self.cache = head, cache

    def forward(self, batch: Ragged) -> Tensor:
        """The head's answer for a batch of cached rows."""
        return self.learn(batch, None)

    def learn(self, batch: Ragged, chance: Chance | None) -> Tensor:
        """The same while the head is trained: it drops out by `chance`."""
        device = self.head.classifier.weight.device
        return self.head.read(self.cache.features(batch).to(device), batch.stacks, chance)

    @property
    def per_token(self) -> bool:
        """Whether the head speaks of tokens, not of whole sequences."""
        return self.head.per_token


def row_key(ids: Any, segments: Any) -> bytes:
    """Sixteen bytes that stand for what a row says."""
    both = np.stack([np.asarray(ids, dtype=np.int64), np.asarray(segments, dtype=np.int64)])
    return hashlib.blake2b(both.data, digest_size=16).digest()


def with_cache(
    model: BertWithHead, folder: Path, rows: Sequence[Row], report: Report = lambda *_: None
) -> CachedFeatures:
    """The model whose head learns from cached features of the rows; the head is the model's own."""
    assert isinstance(model.head, FeatureHead), "only a head that reads layers can learn from them"
    return CachedFeatures(model.head, FeatureCache(folder, model.bert, model.head.layers, rows, report))
