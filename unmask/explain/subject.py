"""A model, an example and what is explained of it, as one function of the words: of many altered copies at once.

Copies with words erased, or with other vectors in place of the word embeddings, come in; a number for each copy goes
out. All rows of all copies go through the encoder as ragged batches, without padding.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call

from unmask.data.batches import BATCH_TOKENS
from unmask.data.ragged import Integers, Ragged, sort_by_length
from unmask.errors import InputError
from unmask.explain.reading import NO_WORD, Reading
from unmask.explain.target import Score, Target
from unmask.model.bert import Encoded
from unmask.model.heads import BertWithHead, Embedding, masked_words_in
from unmask.text.tokenizer import Tokenizer

ERASED = ("mask", "remove")  # an erased word becomes [MASK], or is not there at all

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Subject:
    """What is explained, as a function that can be asked about altered copies."""

    model: BertWithHead
    tokenizer: Tokenizer
    reading: Reading
    target: Target

    def only_what_is_read(self) -> "Subject":
        """The same without rows that say nothing of the target, such as a question's other windows."""
        rows = sorted({row for row, _ in self.target.places})
        places = tuple((rows.index(row), token) for row, token in self.target.places)
        return replace(self, reading=self.reading.of_rows(rows), target=replace(self.target, places=places))

    def scores(self, kept: Flags, *, erased: str = "mask") -> Floats:
        """The score of copies in which only some words are left."""  # (C, W) -> (C,)
        return self._values(kept, erased, self.target.score)

    def probabilities(self, kept: Flags, *, erased: str = "mask") -> Floats:
        """The same as probabilities."""  # (C, W) -> (C,)
        return self._values(kept, erased, self.target.probability)

    def outputs(self, kept: Flags) -> Tensor:
        """What the head itself says at the target's places."""  # (C, W) -> (C, P, outputs)
        with torch.inference_mode():
            return self._outputs(self._batch(kept, "mask"))

    def vectors(self) -> Tensor:
        """The word embeddings of the example itself."""  # (T, D)
        table = self.model.bert.embeddings.words.weight.detach()
        return table[torch.from_numpy(self.reading.ids).to(table.device)]

    def scores_of_vectors(self, vectors: Tensor) -> Tensor:
        """The score of copies with other word embeddings; gradients flow back to them."""  # (C, T, D) -> (C,)
        copies, length, width = vectors.shape
        batch = self._batch(np.ones((copies, len(self.reading.words)), bool), "mask")
        numbered = replace(batch, ragged=replace(batch.ragged, ids=batch.origins))
        return self.target.score(self._outputs(numbered, vectors.reshape(copies * length, width)))

    def sides(self) -> "list[Subject]":
        """The subject itself, or one for each text where texts are explained apart; words keep their order."""
        if not self.target.apart:
            return [self]
        parts = sorted({word.part for word in self.reading.words})
        return [replace(self, reading=self.reading.of_part(part)) for part in parts]

    @property
    def reads_all_tokens(self) -> bool:
        """Whether the head reads every token's last state, as the mean of an embedding does."""
        return isinstance(self.model.head, Embedding) and not self.model.reads_starts

    def _values(self, kept: Flags, erased: str, score: Score) -> Floats:
        if erased not in ERASED:
            raise InputError(f"erasing by {erased!r}", wanted=" or ".join(ERASED))
        different, owners = np.unique(kept, axis=0, return_inverse=True)
        with torch.inference_mode():
            found = [
                score(self._outputs(self._batch(part, erased))) for part in chunks(different, len(self.reading.ids))
            ]
        values: Floats = torch.cat(found).double().cpu().numpy()
        return values[owners.ravel()]

    def _batch(self, kept: Flags, erased: str) -> "_Batch":
        """Copies as a ragged batch, and where the target's places are in it."""
        reading, copies = self.reading, len(kept)
        gone = np.zeros((copies, len(reading.ids)), bool)  # (C, T)
        real = reading.numbers != NO_WORD
        gone[:, real] = ~kept[:, reading.numbers[real]]
        ids = np.where(gone, self.tokenizer.mask_id, reading.ids)
        firsts = np.cumsum(reading.lengths) - reading.lengths  # (R,)
        read = np.array([firsts[row] + token for row, token in self.target.places])  # (P,)
        there = np.ones_like(gone)
        if erased == "remove":
            there = ~gone
            there[:, read] = True  # what is asked about cannot leave: it is masked
        lengths = np.add.reduceat(there, firsts, axis=1, dtype=np.int64).ravel()  # (C·R,)
        segments = np.broadcast_to(reading.segments, ids.shape)
        ragged, origins = sort_by_length(ids[there], segments[there], lengths)
        numbers = np.cumsum(there).reshape(there.shape) - 1  # of each token among those that are there
        tokens = np.argsort(origins)[numbers[:, read]]  # (C, P)
        rows = np.arange(copies)[:, None] * len(firsts) + [row for row, _ in self.target.places]
        return _Batch(ragged, origins, tokens, np.argsort(ragged.order)[rows])

    def _outputs(self, batch: "_Batch", vectors: Tensor | None = None) -> Tensor:
        """What the head says at the target's places."""  # (C, P, outputs)
        model, head = self.model, self.model.head
        words = masked_words_in(head)
        if words is not None:  # the vocabulary product is made at the mask alone
            encoded = self._encoded(batch.ragged, vectors, rows=batch.tokens.ravel())
            outputs: Tensor = words(encoded, torch.from_numpy(batch.tokens.ravel()).to(encoded.rows.device))
            return outputs[:, : self.tokenizer.size].view(*batch.tokens.shape, -1)
        rows = batch.ragged.starts if model.reads_starts else None
        outputs = head(self._encoded(batch.ragged, vectors, rows=rows, keep_layers=model.reads_layers))
        return outputs[torch.from_numpy(batch.tokens if model.per_token else batch.rows).to(outputs.device)]

    def _encoded(self, batch: Ragged, vectors: Tensor | None, **options: Any) -> Encoded:
        """The encoder's answer; with vectors, ids count their lines, and they stand in for the word embeddings."""
        bert = self.model.bert
        if vectors is None:
            return bert(batch, **options)  # type: ignore[no-any-return]
        weights = {name: weight.detach() for name, weight in bert.named_parameters()}  # nothing is learned from them
        encoded: Encoded = functional_call(bert, weights | {"embeddings.words.weight": vectors}, (batch,), options)
        return replace(encoded, words=weights["embeddings.words.weight"])


@dataclass(frozen=True)
class _Batch:
    ragged: Ragged
    origins: Integers  # (T',) where each token stood among all tokens of all copies
    tokens: Integers  # (C, P) the token at each of the target's places
    rows: Integers  # (C, P) the sequence of each


def chunks(copies: NDArray[Any], length: int, tokens: int = BATCH_TOKENS) -> Iterator[NDArray[Any]]:
    """Copies in parts of a bounded number of tokens.

    >>> [part.tolist() for part in chunks(np.arange(5), length=3, tokens=7)]
    [[0, 1], [2, 3], [4]]
    """
    step = max(1, tokens // length)
    for start in range(0, len(copies), step):
        yield copies[start : start + step]


def all_but_each(count: int) -> Flags:
    """Which words are left when each is taken away in turn.

    >>> all_but_each(2).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    return ~np.eye(count, dtype=bool)
