"""What an exported pretrained model says, without torch: logits at the masks of a batch, and whether B follows A."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.data.ragged import Ragged
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.runtime.engine import Engine, Floats
from unmask.runtime.folder import ServingFolder

NEXT_LOGITS = {"pretraining": "seq_relationship_logits", "next_sentence": "logits"}  # head: the output that says it


@dataclass(frozen=True)
class ServedWords:
    """The masked-word head of a serving folder."""

    engine: Engine
    positions: int  # the most pieces that a text may have

    @classmethod
    def of(cls, opened: ServingFolder) -> "ServedWords":
        """That of an opened folder, which must have one."""
        _check(opened, ("pretraining", "masked_words"), "fill masks")
        return cls(opened.engine, opened.config.positions)

    def __call__(self, batch: Ragged, places: Sequence[int]) -> Floats:
        """Logits over the vocabulary at the masks of a batch, which the graph finds by itself."""  # (M, V)
        found = self.engine.run(_rows(batch), ["mask_logits"])["mask_logits"]
        assert len(found) == len(places), "places are those of all masks"
        return found


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


def _check(opened: ServingFolder, heads: Sequence[str], purpose: str) -> None:
    if opened.about.head not in heads:
        raise InputError(f"a serving folder with the head {opened.about.head!r}", wanted=f"one that can {purpose}")


def _rows(batch: Ragged) -> list[Row]:
    """The sequences of a ragged batch, in its order."""
    cuts = np.cumsum(batch.lengths)[:-1]
    pairs = zip(np.split(batch.ids, cuts), np.split(batch.segments, cuts), strict=True)
    return [Row(ids.tolist(), segments.tolist(), number) for number, (ids, segments) in enumerate(pairs)]
