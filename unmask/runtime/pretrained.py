"""What an exported pretrained model says, without torch: logits at masks, every layer's states, whether B follows A."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.data.ragged import Integers, Ragged
from unmask.data.rows import Row
from unmask.decode.words import log_probabilities_of
from unmask.errors import InputError
from unmask.model.config import BertConfig
from unmask.runtime.batching import batches
from unmask.runtime.engine import Engine, Floats, Values
from unmask.runtime.folder import ServingFolder

NEXT_LOGITS = {"pretraining": "seq_relationship_logits", "next_sentence": "logits"}  # head: the output that says it


@dataclass(frozen=True)
class ServedWords:
    """The masked-word head of a serving folder."""

    engine: Engine
    positions: int  # the most pieces that a text may have
    mask_id: int

    @classmethod
    def of(cls, opened: ServingFolder) -> "ServedWords":
        """That of an opened folder, which must have one."""
        _check(opened, ("pretraining", "masked_words"), "fill masks")
        return cls(opened.engine, opened.config.positions, opened.tokenizer.mask_id)

    def __call__(self, batch: Ragged, places: Sequence[int]) -> Floats:
        """Logits over the vocabulary at some masks of a batch; the graph finds all of them by itself."""  # (M, V)
        parts = list(self._at_masks(batch))
        masks = np.concatenate([part for part, _ in parts])
        chosen = np.searchsorted(masks, places)
        return np.concatenate([logits for _, logits in parts])[chosen]

    def log_probabilities(self, batch: Ragged, places: Integers, targets: Integers) -> Floats:
        """The log-probability of each target at its mask."""  # (M,), (M,) -> (M,)
        found = np.empty(len(targets), np.float32)
        for masks, logits in self._at_masks(batch):
            here = np.flatnonzero(np.isin(places, masks))
            found[here] = log_probabilities_of(logits[np.searchsorted(masks, places[here])], targets[here])
        return found

    def _at_masks(self, batch: Ragged) -> Iterator[tuple[Integers, Floats]]:
        """Where masks stand in a batch, and their logits, a part at a time."""
        begin = 0
        for rows, values in _parts(self.engine, batch, ("mask_logits",)):
            ids = np.concatenate([row.ids for row in rows])
            yield begin + np.flatnonzero(ids == self.mask_id), values["mask_logits"]
            begin += len(ids)


@dataclass(frozen=True)
class ServedStates:
    """The hidden states of a serving folder's encoder."""

    engine: Engine
    config: BertConfig

    @classmethod
    def of(cls, opened: ServingFolder) -> "ServedStates":
        """Those of an opened folder, which must give every layer."""
        _check(opened, (None, "pretraining", "masked_words"), "give the states of its layers")
        return cls(opened.engine, opened.config)

    def __call__(self, batch: Ragged, layers: Sequence[int]) -> Floats:
        """Chosen layers of every token side by side; 0 is the embeddings, -1 the last."""  # (T, layers · D)
        count = self.config.layers + 1
        names = [f"hidden_states.{layer % count}" for layer in layers]
        parts = []
        for rows, values in _parts(self.engine, batch, tuple(dict.fromkeys(names))):
            states = np.concatenate([values[name] for name in names], axis=-1)  # (B, S, layers · D)
            parts += [states[number, : len(row.ids)] for number, row in enumerate(rows)]
        return np.concatenate(parts)


@dataclass(frozen=True)
class ServedFollowing:
    """The next-sentence head of a serving folder."""

    engine: Engine
    positions: int

    @classmethod
    def of(cls, opened: ServingFolder) -> "ServedFollowing":
        """That of an opened folder, which must have one."""
        _check(opened, tuple(NEXT_LOGITS), "judge whether sentences follow one another")
        return cls(opened.engine, opened.config.positions)

    def __call__(self, batch: Ragged) -> Floats:
        """Two logits for each pair: it follows, it does not."""  # (B, 2)
        name = NEXT_LOGITS[self.engine.head or ""]
        return self.engine.run(_rows(batch), [name])[name]


def _check(opened: ServingFolder, heads: Sequence[str | None], purpose: str) -> None:
    if opened.about.head not in heads:
        raise InputError(f"a serving folder with the head {opened.about.head!r}", wanted=f"one that can {purpose}")


def _parts(engine: Engine, batch: Ragged, fetch: Sequence[str]) -> Iterator[tuple[list[Row], Values]]:
    """Rows of a batch and the graph's outputs for them, few at a time, in the batch's order: it is sorted by length."""
    rows = _rows(batch)
    for which in batches(batch.lengths.tolist()):
        part = [rows[place] for place in which]
        yield part, engine.run(part, fetch)


def _rows(batch: Ragged) -> list[Row]:
    """The sequences of a ragged batch, in its order."""
    cuts = np.cumsum(batch.lengths)[:-1]
    pairs = zip(np.split(batch.ids, cuts), np.split(batch.segments, cuts), strict=True)
    return [Row(ids.tolist(), segments.tolist(), number) for number, (ids, segments) in enumerate(pairs)]
