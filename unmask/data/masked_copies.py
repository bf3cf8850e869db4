"""A sentence as many copies of itself, a different piece hidden in each: what a masked-word model needs to score it.

Words of several pieces are hidden as in PLL-word-l2r (Kauf and Ivanova 2023, after Salazar et al. 2020): with the piece
that is asked for, the later pieces of its own word are hidden too, or they would give it away (`##lent` tells `vio`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.data.batches import runs
from unmask.data.ragged import Integers, Ragged


@dataclass(frozen=True)
class MaskedCopies:
    """N copies of some sequences, shortest first; copy i hides `first[i]` to `stop[i]` and asks for the first of them.

    Only these numbers are kept: the copies themselves come into being a batch at a time.
    """

    ids: Integers  # the sequences end to end
    starts: Integers  # (N,) where the copied sequence begins in `ids`
    lengths: Integers  # (N,) its length
    first: Integers  # (N,) the piece asked for, counted from the sequence's [CLS]
    stop: Integers  # (N,) the end of its word

    @property
    def targets(self) -> Integers:
        """What stood at each piece asked for."""  # (N,)
        targets: Integers = self.ids[self.starts + self.first]
        return targets

    def batches(self, mask_id: int, *, tokens: int) -> Iterator[tuple[slice, Ragged, Integers]]:
        """Batches of copies, in order: which copies, their tokens, and where among these the pieces asked for stand."""
        for run in runs(self.lengths.tolist(), tokens):
            yield run, *self._batch(run, mask_id)

    def _batch(self, run: slice, mask_id: int) -> tuple[Ragged, Integers]:
        lengths = self.lengths[run]
        begins = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) - np.repeat(begins, lengths)  # (T,) in its own copy
        ids = self.ids[np.repeat(self.starts[run], lengths) + places]
        hidden = (places >= np.repeat(self.first[run], lengths)) & (places < np.repeat(self.stop[run], lengths))
        ids[hidden] = mask_id
        return Ragged(ids, np.zeros_like(ids), lengths, np.arange(len(lengths))), begins + self.first[run]


def masked_copies(
    sequences: Sequence[Sequence[int]], word_ids: Sequence[Sequence[int | None]]
) -> tuple[MaskedCopies, list[slice]]:
    """One copy for each piece that belongs to a word, and which copies are each sequence's, in the order of its pieces.

    >>> copies, of_sequence = masked_copies([[2, 7, 8, 9, 3]], [[None, 0, 1, 1, None]])
    >>> [batch.ids.tolist() for _, batch, _ in copies.batches(4, tokens=5)]
    [[2, 4, 8, 9, 3], [2, 7, 4, 4, 3], [2, 7, 8, 4, 3]]
    >>> copies.targets, of_sequence
    (array([7, 8, 9]), [slice(0, 3, None)])
    """
    spans = [word_ends(words) for words in word_ids]
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    counts = np.array([len(spans[i]) for i in order], dtype=np.int64)
    ends = np.cumsum(counts)
    first, stop = np.array([span for i in order for span in spans[i]], dtype=np.int64).reshape(-1, 2).T
    ids = np.fromiter((id for sequence in sequences for id in sequence), dtype=np.int64, count=int(lengths.sum()))
    copies = MaskedCopies(ids, np.repeat(starts[order], counts), np.repeat(lengths[order], counts), first, stop)
    of_sequence = {int(i): slice(int(end - count), int(end)) for i, end, count in zip(order, ends, counts, strict=True)}
    return copies, [of_sequence[i] for i in range(len(sequences))]


def word_ends(word_ids: Sequence[int | None]) -> list[tuple[int, int]]:
    """Each piece that belongs to a word, and where its word ends.

    >>> word_ends([None, 0, 1, 1, None])
    [(1, 2), (2, 4), (3, 4)]
    """
    ends: list[tuple[int, int]] = []
    end = len(word_ids)
    for place in range(len(word_ids) - 1, -1, -1):
        if place + 1 < len(word_ids) and word_ids[place] != word_ids[place + 1]:
            end = place + 1
        if word_ids[place] is not None:
            ends.append((place, end))
    return ends[::-1]
