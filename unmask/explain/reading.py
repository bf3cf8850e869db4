"""One example as a model reads it, with every token's word: an example comes in, rows and words go out.

A token that stands for no word ([CLS], [SEP]) has the number -1. Only words that are read are among the words.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import QuestionExample, TaggedExample
from unmask.data.question_rows import WindowRow
from unmask.data.ragged import Integers
from unmask.data.rows import sequences
from unmask.data.word_rows import WordRow
from unmask.explain.words import explained_words
from unmask.text.segment import Segmenter
from unmask.text.tokenizer import Tokenizer

NO_WORD = -1

Place = tuple[int, int, int]  # a token's text by its number, and its characters there
Texts = Sequence[tuple[int, int | None]]  # of each sequence, which text or pair of texts it shows


@dataclass(frozen=True)
class Word:
    """A word of one of the example's texts."""

    text: str
    part: int  # the number of its text
    start: int
    end: int


@dataclass(frozen=True)
class ReadRow:
    """A sequence, and where its tokens stand in the example's texts."""

    ids: Sequence[int]
    segments: Sequence[int]
    places: Sequence[Place | None]
    part: int = 0  # which of the example's sequences it is a window of: an ending, a side of a pair


@dataclass(frozen=True)
class Reading:
    """All rows of one example, and its words."""

    texts: tuple[str, ...]
    rows: tuple[ReadRow, ...]
    words: tuple[Word, ...]
    numbers: Integers  # (T,) the word of each token, rows end to end

    @cached_property
    def ids(self) -> Integers:
        """The tokens of all rows, end to end."""  # (T,)
        return np.concatenate([np.asarray(row.ids, np.int64) for row in self.rows])

    @cached_property
    def segments(self) -> Integers:
        """Their segments."""  # (T,)
        return np.concatenate([np.asarray(row.segments, np.int64) for row in self.rows])

    @cached_property
    def lengths(self) -> Integers:
        """How long each row is."""  # (R,)
        return np.array([len(row.ids) for row in self.rows], np.int64)

    def word_sums(self, tokens: NDArray[np.floating]) -> NDArray[np.float64]:
        """Numbers of tokens summed up to numbers of words."""  # (T,) -> (W,)
        real = self.numbers != NO_WORD
        weights = tokens[real].astype(np.float64)
        return np.bincount(self.numbers[real], weights, minlength=len(self.words)).astype(np.float64)

    def of_part(self, part: int) -> "Reading":
        """The same with the words of one text alone; those of the others stand for nothing that could change."""
        return self._with_words([number for number, word in enumerate(self.words) if word.part == part])

    def of_rows(self, rows: Sequence[int]) -> "Reading":
        """Some of the rows, and the words that they show."""
        starts = np.cumsum(self.lengths) - self.lengths
        tokens = np.concatenate([np.arange(starts[row], starts[row] + self.lengths[row]) for row in rows])
        numbers = self.numbers[tokens]
        chosen = replace(self, rows=tuple(self.rows[row] for row in rows), numbers=numbers)
        return chosen._with_words(np.unique(numbers[numbers != NO_WORD]).tolist())

    def _with_words(self, chosen: Sequence[int]) -> "Reading":
        renumbered = np.full(len(self.words) + 1, NO_WORD)  # the last is that of NO_WORD itself
        renumbered[np.asarray(chosen, np.int64)] = np.arange(len(chosen))
        return replace(self, words=tuple(self.words[number] for number in chosen), numbers=renumbered[self.numbers])


def reading_of(texts: Sequence[str], rows: Iterable[ReadRow], segment: Segmenter | None = None) -> Reading:
    """The reading of rows whose tokens know their places.

    >>> row = ReadRow([2, 5, 6, 7, 3], [0] * 5, [None, (0, 0, 2), (0, 2, 5), (0, 6, 9), None])
    >>> read = reading_of(["Annes did"], [row])
    >>> [word.text for word in read.words], read.numbers
    (['Annes', 'did'], array([-1,  0,  0,  1, -1]))
    """
    rows = tuple(rows)
    starts = [[start for start, _ in explained_words(text, segment)] for text in texts]
    ends: dict[tuple[int, int], int] = {}  # of each word by its text and first character
    keys: list[tuple[int, int] | None] = []
    for place in (place for row in rows for place in row.places):
        keys.append(None if place is None else (place[0], _begun(starts[place[0]], place[1])))
        if place is not None and (key := keys[-1]):
            ends[key] = max(place[2], ends.get(key, 0))
    order = {key: number for number, key in enumerate(sorted(ends))}
    words = tuple(Word(texts[part][start : ends[part, start]], part, start, ends[part, start]) for part, start in order)
    numbers = np.array([NO_WORD if key is None else order[key] for key in keys], np.int64)
    return Reading(tuple(texts), rows, words, numbers)


def _begun(starts: Sequence[int], place: int) -> int:
    """The beginning of the word that a character belongs to."""
    return starts[max(bisect_right(starts, place) - 1, 0)]


def read_texts(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    shown: Texts,
    *,
    longest: int,
    long_text: str = "head",
    segment: Segmenter | None = None,
) -> Reading:
    """Texts as classes, values, choices and embeddings read them: cut, or in windows.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "b", "c"])
    >>> read = read_texts(tokenizer, ["a b c", "c"], [(0, 1)], longest=6)
    >>> read.ids, [word.text for word in read.words]
    (array([2, 5, 6, 3, 7, 3]), ['a', 'b', 'c'])
    """
    encodings = tokenizer.encode_batch(texts)
    ids = [id for encoding in encodings for id in encoding.ids[1:-1]]
    places = [(part, *span) for part, encoding in enumerate(encodings) for span in encoding.offsets[1:-1]]
    firsts = [0, *accumulate(len(encoding.ids) - 2 for encoding in encodings)]
    rows = []
    for part, (first, second) in enumerate(shown):
        # Pieces are cut by their numbers in place of their ids, so that each one's place is still known.
        numbers = [None if text is None else range(firsts[text], firsts[text + 1]) for text in (first, second)]
        assert numbers[0] is not None
        for cut, segments in sequences(tokenizer, numbers[0], numbers[1], longest=longest, long_text=long_text):
            special = {0: tokenizer.cls_id, len(cut) - 1: tokenizer.sep_id, segments.count(0) - 1: tokenizer.sep_id}
            rows.append(
                ReadRow(
                    [special[n] if n in special else ids[number] for n, number in enumerate(cut)],
                    segments,
                    [None if n in special else places[number] for n, number in enumerate(cut)],
                    part,
                )
            )
    return reading_of(texts, rows, segment)


def read_words(example: TaggedExample, rows: Sequence[WordRow], segment: Segmenter | None = None) -> Reading:
    """A sentence as a tagger reads it: every piece has the place of its word."""
    found = []
    for row in rows:
        places: list[Place | None] = [None] * len(row.ids)
        ends = [*row.places[1:].tolist(), len(row.ids) - 1]
        for word, first, end in zip(row.words.tolist(), row.places.tolist(), ends, strict=True):
            places[first:end] = [(0, *example.words[word])] * (end - first)
        found.append(ReadRow(row.ids, row.segments, places))
    return reading_of([example.text], found, segment)


def read_question(
    tokenizer: Tokenizer, example: QuestionExample, rows: Sequence[WindowRow], segment: Segmenter | None = None
) -> Reading:
    """A question and the windows of its context."""
    question = [(0, *span) for span in tokenizer.encode(example.question).offsets[1:-1]]
    found = []
    for row in rows:
        context = [(1, int(start), int(end)) for start, end in row.offsets]
        places = [None, *question[: row.first - 2], None, *context, None]
        found.append(ReadRow(row.ids, row.segments, places))
    return reading_of([example.question, example.context], found, segment)
