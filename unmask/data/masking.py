"""Masked words: examples come in; the same ids with some hidden, where these stand, and what stood there, go out.

As in the paper, 15 % of a row's tokens are chosen, never a special piece; of these 80 % become [MASK], 10 % a random
piece, 10 % stay. What is chosen is pieces, whole words (as in Google's whole-word models; Cui et al. 2019 for Chinese)
or spans of words (SpanBERT, Joshi et al. 2020). Each row's chance is its own key: its masks do not depend on the batch.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unmask.data.chance import uniform
from unmask.data.pairs import Examples
from unmask.data.ragged import Integers
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer

Unit = Literal["piece", "word", "span"]
Flags = NDArray[np.bool_]

GOES_ON, LONGEST_SPAN = 0.8, 10  # SpanBERT's: a span goes on to the next word with this probability, up to ten words
CHOICE, MIX, REPLACEMENT, SPANS = 1, 2, 3, 4  # purposes of chance


@dataclass(frozen=True)
class Masked:
    """What the model reads and what it has to find."""

    ids: Integers  # (T,)
    positions: Integers  # (M,) ascending
    targets: Integers  # (M,) what stood there


def mask(
    examples: Examples,
    tokenizer: Tokenizer,
    *,
    rate: float = 0.15,
    mix: tuple[float, float, float] = (0.8, 0.1, 0.1),
    unit: Unit = "piece",
) -> Masked:
    """Hides max(1, round(rate × length)) tokens of each row; `mix` is the shares of [MASK], random and same pieces.

    Whole units are taken in random order as long as half of one still fits: a row is off by half a unit at most, on
    average by nothing. A unit longer than all that is to be hidden is taken only where a row has no other.

    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##mask", "it"])
    >>> special, words = np.array([1, 0, 0, 0, 1], bool), np.array([1, 1, 0, 1, 1], bool)
    >>> ids, one = np.array([2, 5, 6, 7, 3]), np.array([1])
    >>> row = Examples(ids, ids * 0, lengths=one * 5, labels=one * 0, special=special, word_starts=words, keys=one * 4)
    >>> masked = mask(row, tokenizer, rate=0.4, mix=(1, 0, 0), unit="word")
    >>> masked.ids, masked.positions, masked.targets
    (array([2, 4, 4, 7, 3]), array([1, 2]), array([5, 6]))
    """
    _check(rate, mix)
    starts = STARTS[unit](examples)
    chosen = _choose(examples, starts, np.maximum(1, np.rint(rate * examples.lengths)))
    positions = np.flatnonzero(chosen)  # (M,)
    keys, places = examples.keys[examples.rows[positions]], examples.positions[positions]
    # A span is replaced as a whole, words and pieces piece by piece, as their authors have it.
    decisive = examples.positions[_begins(starts)[positions]] if unit == "span" else places
    share = uniform(keys, MIX, decisive)
    ordinary = np.flatnonzero(~tokenizer.special)
    random = ordinary[(uniform(keys, REPLACEMENT, places) * len(ordinary)).astype(np.int64)]
    targets = examples.ids[positions]
    ids = examples.ids.copy()
    ids[positions] = np.select([share < mix[0], share < mix[0] + mix[1]], [tokenizer.mask_id, random], targets)
    return Masked(ids, positions, targets)


def _check(rate: float, mix: tuple[float, float, float]) -> None:
    if not 0 < rate <= 1:
        raise InputError(f"a mask rate of {rate}", wanted="a share above 0 and at most 1, such as 0.15")
    if min(mix) < 0 or abs(sum(mix) - 1) > 1e-6:
        raise InputError(f"a mask mix of {mix}", wanted="shares of [MASK], random, same that sum to 1: 80/10/10")


def _choose(examples: Examples, starts: Flags, budgets: NDArray[np.float64]) -> Flags:
    """Which tokens to hide: whole units in random order until the row's budget is used up."""  # (T,)
    first = np.flatnonzero(starts)  # (units,)
    sizes = np.diff(first, append=len(starts))
    row = examples.rows[first]
    special, too_long = examples.special[first], sizes > budgets[row]
    chance = uniform(examples.keys[row], CHOICE, examples.positions[first])
    order = np.lexsort((chance, special * 2 + too_long, row))  # shuffled within rows, the unwanted last
    before = np.cumsum(sizes[order]) - sizes[order] - examples.starts[row]
    taken = (before + sizes[order] / 2 <= budgets[row]) | (before == 0)
    hidden = np.zeros(len(first), dtype=np.bool_)
    hidden[order[taken]] = True
    return np.repeat(hidden & ~special, sizes)


def _pieces(examples: Examples) -> Flags:
    return np.ones(len(examples.ids), dtype=np.bool_)


def _words(examples: Examples) -> Flags:
    return examples.word_starts


def _spans(examples: Examples) -> Flags:
    """Cuts each run of words between special pieces into spans of geometric length and gives their first tokens."""
    first = np.flatnonzero(examples.word_starts)  # (words,)
    special = examples.special[first]
    run = np.cumsum(special) - 1  # each run is a special piece and the words up to the next one
    begins = np.flatnonzero(special)
    shares = np.cumsum(GOES_ON ** np.arange(LONGEST_SPAN))
    chance = uniform(examples.keys[examples.rows[first]], SPANS, examples.positions[first])
    lengths = np.where(special, 1, 1 + np.searchsorted(shares / shares[-1], chance, side="right"))
    ends = begins[run] + np.cumsum(lengths) - (np.cumsum(lengths) - lengths)[begins][run]
    starts = special.copy()
    inside = ends < np.append(begins, len(first))[run + 1]
    starts[ends[inside]] = True
    flags = np.zeros(len(examples.ids), dtype=np.bool_)
    flags[first[starts]] = True
    return flags


def _begins(starts: Flags) -> Integers:
    """For each token where its unit begins."""  # (T,)
    begins: Integers = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return begins


STARTS = {"piece": _pieces, "word": _words, "span": _spans}
