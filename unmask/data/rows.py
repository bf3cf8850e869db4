"""Texts as rows that a model reads: one for each text or pair, or several windows of a long one.

Pieces come in; sequences with `[CLS]` and `[SEP]` that are no longer than the model's positions go out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer

LONG_TEXT = ("head", "tail", "head+tail", "windows")  # what is read of a text that is longer than the model's positions
STRIDE = 0.5  # how far a window lies behind the one before, as a share of its room


@dataclass(frozen=True)
class Row:
    """A sequence that goes through the encoder, and what is to be learned from it."""

    ids: Sequence[int]
    segments: Sequence[int]
    example: int  # the example that it belongs to
    target: NDArray[Any] | None = None  # a row of its own for a sequence, or one for each of its tokens
    part: int = 0  # which of the example's texts it is, where they are read one by one: an ending, a side of a pair


def text_rows(
    tokenizer: Tokenizer,
    texts: Sequence[tuple[str, str | None]],
    *,
    longest: int,
    long_text: str = "head",
    targets: Sequence[NDArray[Any]] | None = None,
) -> list[Row]:
    """The rows of texts or pairs, in their order.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "b", "c", "d"])
    >>> [row.ids for row in text_rows(tokenizer, [("a b c d", None)], longest=4, long_text="windows")]
    [[2, 5, 6, 3], [2, 6, 7, 3], [2, 7, 8, 3]]
    """
    firsts = tokenizer.ids_batch([first for first, _ in texts])
    seconds = iter(tokenizer.ids_batch([second for _, second in texts if second is not None]))
    rows = []
    for number, (pieces, (_, second)) in enumerate(zip(firsts, texts, strict=True)):
        other = None if second is None else next(seconds)
        for ids, segments in sequences(tokenizer, pieces, other, longest=longest, long_text=long_text):
            rows.append(Row(ids, segments, number, None if targets is None else targets[number]))
    return rows


def sequences(
    tokenizer: Tokenizer, first: Sequence[int], second: Sequence[int] | None, *, longest: int, long_text: str = "head"
) -> list[tuple[list[int], list[int]]]:
    """Ids and segments of one text or pair: one sequence, or several where windows of a long text are wanted."""
    room = longest - 2 - (second is not None)
    return [_sequence(tokenizer, *kept) for kept in _kept(first, second, room, long_text)]


def _sequence(tokenizer: Tokenizer, first: Sequence[int], second: Sequence[int] | None) -> tuple[list[int], list[int]]:
    ids, segments = [tokenizer.cls_id, *first, tokenizer.sep_id], [0] * (len(first) + 2)
    if second is not None:
        ids, segments = [*ids, *second, tokenizer.sep_id], segments + [1] * (len(second) + 1)
    return ids, segments


def _kept(
    first: Sequence[int], second: Sequence[int] | None, room: int, long_text: str
) -> list[tuple[Sequence[int], Sequence[int] | None]]:
    """What is read of a text or pair; in a pair the longer gives way first, and windows run over it."""
    if second is None:
        return [(part, None) for part in cut(first, room, long_text)]
    if len(first) + len(second) <= room:
        return [(first, second)]
    if long_text != "windows":
        mine, theirs = shares(len(first), len(second), room)
        return [(cut(first, mine, long_text)[0], cut(second, theirs, long_text)[0])]
    shorter, longer = sorted([first, second], key=len)
    shorter = shorter[: room // 2]
    parts = cut(longer, room - len(shorter), "windows")
    return [(part, shorter) if len(first) > len(second) else (shorter, part) for part in parts]


def shares(first: int, second: int, room: int) -> tuple[int, int]:
    """How much each of two texts keeps when they must fit: the longer gives way until both are equal.

    >>> shares(5, 3, 6), shares(4, 4, 7), shares(1, 9, 6)
    ((3, 3), (4, 3), (1, 5))
    """
    if first + second <= room:
        return first, second
    kept = min(first, max(room - second, room - room // 2))
    return kept, room - kept


def cut(pieces: Sequence[int], room: int, long_text: str) -> list[Sequence[int]]:
    """What is read of a text of too many pieces: its head, its tail, a quarter of head and the rest tail, or windows.

    >>> cut([1, 2, 3, 4, 5, 6], 4, "head+tail")
    [[1, 4, 5, 6]]
    """
    if len(pieces) <= room:
        return [pieces]
    if long_text == "windows":
        return [pieces[start : start + room] for start in window_starts(len(pieces), room, max(1, int(room * STRIDE)))]
    head = {"head": room, "tail": 0, "head+tail": room // 4}[long_text]
    return [[*pieces[:head], *pieces[len(pieces) - (room - head) :]]]


def window_starts(length: int, room: int, stride: int) -> list[int]:
    """Where windows of `room` begin so that they cover `length`; the last is full and ends with the text.

    >>> window_starts(10, 4, 3), window_starts(3, 4, 2)
    ([0, 3, 6], [0])
    """
    if length <= room:
        return [0]
    return [*range(0, length - room, stride), length - room]


def check_long_text(long_text: str) -> None:
    """Refuses a way of reading long texts that does not exist."""
    if long_text not in LONG_TEXT:
        raise InputError(f"long text {long_text!r}", wanted=", ".join(LONG_TEXT), do="choose one with --long-text")
