"""Sentences of words as rows: each word's own pieces, a long sentence as overlapping windows, or with its neighbours.

Sentences whose words are known come in; rows go out that know at which token each of their words begins. A word is
encoded by itself, so that whatever becomes of it (even nothing) the other words stay where they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import TaggedExample
from unmask.data.ragged import Integers
from unmask.data.rows import STRIDE, Row
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer

NO_LABEL = -100  # the target of tokens that nothing is learned from
SHORTEST = 3  # pieces of a row: [CLS], [SEP] and a piece between

Range = tuple[int, int]  # of words: the first, the one after the last


@dataclass(frozen=True, kw_only=True)
class WordRow(Row):
    """A sentence, or a window of one; where neighbours stand around it, they are not among its words."""

    words: Integers  # (W,) numbers of words in the sentence; a word of which no piece is left is not among them
    places: Integers  # (W,) the token that each begins with


@dataclass(frozen=True)
class WordPieces:
    """The pieces of words, end to end."""

    ids: Integers  # (P,)
    starts: Integers  # (words + 1,) where each word begins, and where the last one ends


def word_rows(
    tokenizer: Tokenizer,
    examples: Sequence[TaggedExample],
    labels: Sequence[Sequence[int]] | None = None,
    *,
    longest: int,
    context: bool = False,
) -> list[WordRow]:
    """The rows of sentences, in their order; the target is a word's label at its first piece, and none elsewhere.

    With `context` a row is filled up with sentences of the same document, before and after, as far as there is room.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "ann", "sang", "##s"])
    >>> (row,) = word_rows(tokenizer, [TaggedExample("Anns sang", ((0, 4), (5, 9)))], [[1, 0]], longest=128)
    >>> row.ids, row.target, row.places
    ([2, 5, 7, 6, 3], array([-100,    1, -100,    0, -100]), array([1, 3]))
    """
    if longest < SHORTEST:
        raise InputError(f"a length of {longest} pieces", wanted=f"at least {SHORTEST}")
    pieces = dict(zip(distinct := distinct_words(examples), tokenizer.ids_batch(distinct), strict=True))
    rows: list[WordRow] = []
    for numbers in documents(examples, together=context):
        sentences = [[pieces[word] for word in words_of(examples[number])] for number in numbers]
        document = end_to_end([word for sentence in sentences for word in sentence])
        first = 0
        for number, sentence in zip(numbers, sentences, strict=True):
            own = (first, first + len(sentence))
            for shown, asked in ranges(document.starts, own, longest - 2):
                row = _row(tokenizer, document, shown, asked, first, number, longest)
                rows.append(row if labels is None else _with_target(row, labels[number]))
            first = own[1]
    return rows


def words_of(example: TaggedExample) -> list[str]:
    """The words of a sentence."""
    return [example.text[start:end] for start, end in example.words]


def distinct_words(examples: Iterable[TaggedExample]) -> list[str]:
    """Every word once: a text has far fewer different words than words."""
    return list(dict.fromkeys(word for example in examples for word in words_of(example)))


def documents(examples: Sequence[TaggedExample], *, together: bool) -> Iterator[list[int]]:
    """Numbers of the sentences that may be read together: those of a document, or each one alone.

    >>> sentences = [TaggedExample("", (), document=number) for number in (0, 0, 1, -1, -1)]
    >>> list(documents(sentences, together=True))
    [[0, 1], [2], [3], [4]]
    """

    def document(number: int) -> tuple[bool, int]:
        own = examples[number].document
        return (True, own) if together and own >= 0 else (False, number)

    for _, numbers in groupby(range(len(examples)), key=document):
        yield list(numbers)


def end_to_end(words: Sequence[Sequence[int]]) -> WordPieces:
    """The pieces of words in one array.

    >>> end_to_end([[5, 7], [], [6]]).starts
    array([0, 2, 2, 3])
    """
    ids = np.array([id for word in words for id in word], dtype=np.int64)
    return WordPieces(ids, np.cumsum([0, *map(len, words)], dtype=np.int64))


def ranges(starts: Integers, own: Range, room: int) -> Iterator[tuple[Range, Range]]:
    """The words that each row of a sentence shows, and those it is asked of; the first reaches as far as there is room.

    >>> list(ranges(np.arange(9), (2, 4), room=6))  # words of one piece
    [((0, 6), (2, 4))]
    """
    for first, end in windows(starts[own[0] : own[1] + 1], room):
        asked = (own[0] + first, own[0] + end)
        yield surroundings(starts, asked, room), asked


def windows(starts: Integers, room: int) -> Iterator[Range]:
    """Ranges of words that fit into `room` pieces and cover all; each begins in the middle of the one before.

    The last one is as full as the others. A word that is longer than the room stands alone.

    >>> list(windows(np.arange(11), 4)), list(windows(np.array([0, 3, 10, 11]), 4))
    ([(0, 4), (2, 6), (4, 8), (6, 10)], [(0, 1), (1, 2), (2, 3)])
    """
    count = len(starts) - 1
    last = int(np.searchsorted(starts, starts[-1] - room))  # where a window begins that reaches the end
    first = 0
    while True:
        end = max(int(np.searchsorted(starts, starts[first] + room, side="right")) - 1, min(first + 1, count))
        yield first, end
        if end == count:
            return
        middle = int(np.searchsorted(starts, starts[first] + room * STRIDE))
        further = int(np.searchsorted(starts, starts[end + 1] - room))  # where a window begins that reaches a word more
        first = min(end, max(further, min(middle, last)))


def surroundings(starts: Integers, words: Range, room: int) -> Range:
    """The words and as many of their neighbours as fit, half of them on each side where there are so many.

    >>> surroundings(np.arange(11), (1, 3), 6), surroundings(np.arange(11), (4, 6), 6)
    ((0, 6), (2, 8))
    """
    first, end = words
    spare = room - int(starts[end] - starts[first])
    if spare <= 0:
        return words
    after = int(starts[-1] - starts[end])
    before = max(spare // 2, spare - after)
    begin = int(np.searchsorted(starts, starts[first] - before))
    spare -= int(starts[first] - starts[begin])
    return begin, int(np.searchsorted(starts, starts[end] + spare, side="right")) - 1


def _row(
    tokenizer: Tokenizer, document: WordPieces, shown: Range, asked: Range, first: int, number: int, longest: int
) -> WordRow:
    """The row that shows some words of a document; `first` is the number of the sentence's first word there."""
    starts = document.starts
    pieces = document.ids[starts[shown[0]] : starts[shown[1]]][: longest - 2].tolist()
    words = np.arange(*asked)
    words = words[starts[words + 1] > starts[words]]
    ids = [tokenizer.cls_id, *pieces, tokenizer.sep_id]
    places = starts[words] - starts[shown[0]] + 1
    return WordRow(ids, [0] * len(ids), number, words=words - first, places=places)


def _with_target(row: WordRow, labels: Sequence[int]) -> WordRow:
    target: NDArray[np.int64] = np.full(len(row.ids), NO_LABEL, dtype=np.int64)
    target[row.places] = np.asarray(labels, dtype=np.int64)[row.words]
    return WordRow(row.ids, row.segments, row.example, target, words=row.words, places=row.places)
