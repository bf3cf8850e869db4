"""What a head attends to, in a few shares: an attention map in, the attention given to each kind of token out.

After Clark et al. (2019), "What does BERT look at?": many heads look at the next token, the previous one, or at [SEP].
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unmask.explain.reading import NO_WORD

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def summary(map_: NDArray[np.floating], words: Numbers, pieces: Sequence[str]) -> dict[str, float]:
    """The mean share of attention that a head's tokens give to each kind of token; kinds overlap.

    >>> ahead = np.roll(np.eye(4), 1, axis=1)
    >>> summary(ahead, np.array([-1, 0, 0, -1]), ["[CLS]", "un", "##do", "[SEP]"])["next"]
    0.75
    """  # (S, S), (S,)
    specials = np.array([piece if piece in ("[CLS]", "[SEP]") else "" for piece in pieces])
    return {name: float((map_ * kind(words, specials)).sum(1).mean()) for name, kind in KINDS.items()}


def _apart(distance: int) -> Callable[[Numbers, NDArray[np.str_]], Flags]:
    return lambda words, _: np.eye(len(words), k=distance, dtype=bool)


def _special(name: str) -> Callable[[Numbers, NDArray[np.str_]], Flags]:
    return lambda words, specials: np.broadcast_to(specials == name, (len(words), len(words)))


def _same_word(words: Numbers, _: NDArray[np.str_]) -> Flags:
    """Other pieces of the own word."""
    same: Flags = (words[:, None] == words) & (words != NO_WORD) & ~np.eye(len(words), dtype=bool)
    return same


KINDS: dict[str, Callable[[Numbers, NDArray[np.str_]], Flags]] = {
    "itself": _apart(0),
    "next": _apart(1),
    "previous": _apart(-1),
    "same word": _same_word,
    "[CLS]": _special("[CLS]"),
    "[SEP]": _special("[SEP]"),
}
