"""Sentences of words as rows: words and pieces keep to one another, windows cover all words, neighbours are context."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.data.examples import TaggedExample
from unmask.data.tagged import join_words, read_tagged
from unmask.data.word_rows import NO_LABEL, WordRow, surroundings, windows, word_rows, words_of
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LETTERS = "abcdefghij"
PIECES = (*SPECIAL_PIECES, *LETTERS, *(f"##{letter}" for letter in LETTERS), ".", "-", "人", "大", "山")
TOKENIZER = Tokenizer(PIECES)
WORDS = st.sampled_from(["a", "bc", "def", "a.b", "人", "大", "ghij-abc", "\u200b", "\x07", "人a", "😀"])


def sentence(*words: str, document: int = 0) -> TaggedExample:
    """A sentence whose words stand one blank apart."""
    ends = np.cumsum([len(word) + 1 for word in words])
    spans = tuple((int(end) - 1 - len(word), int(end) - 1) for word, end in zip(words, ends, strict=True))
    return TaggedExample(" ".join(words), spans, document=document)


def shown(row: WordRow) -> list[str]:
    return [PIECES[id] for id in row.ids]


def test_a_label_stands_at_the_first_piece_of_its_word() -> None:
    (row,) = word_rows(TOKENIZER, [sentence("abc", "d", "e.f")], [[7, 8, 9]], longest=20)
    assert shown(row) == ["[CLS]", "a", "##b", "##c", "d", "e", ".", "f", "[SEP]"]
    assert row.target is not None
    assert row.target.tolist() == [NO_LABEL, 7, NO_LABEL, NO_LABEL, 8, 9, NO_LABEL, NO_LABEL, NO_LABEL]


def test_a_word_that_vanishes_does_not_shift_the_others() -> None:
    (row,) = word_rows(TOKENIZER, [sentence("a", "\x07", "人", "b")], [[5, 6, 7, 8]], longest=20)
    assert shown(row) == ["[CLS]", "a", "人", "b", "[SEP]"]
    assert row.words.tolist() == [0, 2, 3]
    assert row.target is not None
    assert row.target.tolist() == [NO_LABEL, 5, 7, 8, NO_LABEL]


def test_every_sentence_has_a_row_even_an_empty_one() -> None:
    rows = word_rows(TOKENIZER, [sentence(), sentence("a"), sentence("\x07")], longest=5)
    assert [(row.example, shown(row)[1:-1], row.words.tolist()) for row in rows] == [
        (0, [], []),
        (1, ["a"], [0]),
        (2, [], []),
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=3), st.integers(3, 12), st.booleans())
def test_rows_fit_and_hold_every_word_at_its_own_first_piece(
    sentences: list[list[str]], longest: int, context: bool
) -> None:
    rows = word_rows(TOKENIZER, [sentence(*words) for words in sentences], longest=longest, context=context)
    for number, words in enumerate(sentences):
        found: dict[int, int] = {}
        for row in rows:
            if row.example == number:
                assert len(row.ids) <= longest
                found |= {int(word): row.ids[place] for word, place in zip(row.words, row.places, strict=True)}
        pieces = TOKENIZER.ids_batch(words)
        assert found == {word: ids[0] for word, ids in enumerate(pieces) if ids}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 12))
def test_windows_cover_every_word_in_order(sizes: list[int], room: int) -> None:
    starts = np.cumsum([0, *sizes])
    found = list(windows(starts, room))
    assert found[0][0] == 0
    assert found[-1][1] == len(sizes)
    for first, end in found:
        assert starts[end] - starts[first] <= room or end == first + 1
    for (first, end), (later, later_end) in pairwise(found):
        assert first < later <= end < later_end


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=30), st.data())
def test_surroundings_fit_and_are_as_wide_as_they_can_be(sizes: list[int], data: st.DataObject) -> None:
    starts = np.cumsum([0, *sizes])
    first = data.draw(st.integers(0, len(sizes) - 1))
    end = data.draw(st.integers(first + 1, len(sizes)))
    room = int(starts[end] - starts[first]) + data.draw(st.integers(0, 20))
    from_, to = surroundings(starts, (first, end), room)
    assert from_ <= first < end <= to
    assert starts[to] - starts[from_] <= room
    if to < len(sizes):
        assert starts[to + 1] - starts[from_] > room
    if to == len(sizes) and from_ > 0:
        assert starts[to] - starts[from_ - 1] > room


def test_context_is_of_the_same_document_and_not_asked_of() -> None:
    examples = [sentence("a", document=0), sentence("b", document=0), sentence("c", document=1)]
    rows = word_rows(TOKENIZER, examples, [[1], [2], [3]], longest=20, context=True)
    assert [shown(row)[1:-1] for row in rows] == [["a", "b"], ["a", "b"], ["c"]]
    assert [row.target.tolist() for row in rows if row.target is not None] == [
        [NO_LABEL, 1, NO_LABEL, NO_LABEL],
        [NO_LABEL, NO_LABEL, 2, NO_LABEL],
        [NO_LABEL, 3, NO_LABEL],
    ]


def test_without_context_sentences_of_a_document_are_read_alone() -> None:
    rows = word_rows(TOKENIZER, [sentence("a"), sentence("b")], longest=20)
    assert [shown(row)[1:-1] for row in rows] == [["a"], ["b"]]


def test_a_length_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="at least 3"):
        word_rows(TOKENIZER, [sentence("a")], longest=2)


@pytest.mark.shared
@pytest.mark.parametrize("file", ["conll2003/eng.testa", "msra_ner/test.first-half.bio.txt"])
def test_words_of_real_sentences_find_their_pieces_and_back(shared_data: Path, file: str) -> None:
    examples = read_tagged(shared_data / file).examples[:500]
    letters = sorted({letter for example in examples for letter in example.text.replace(" ", "").lower()})
    tokenizer = Tokenizer([*SPECIAL_PIECES, *letters, *(f"##{letter}" for letter in letters)])
    rows = word_rows(tokenizer, examples, longest=100_000)
    assert len(rows) == len(examples)
    for example, row in zip(examples, rows, strict=True):
        words = words_of(example)
        assert join_words(words) == (example.text, example.words)
        assert row.words.tolist() == list(range(len(words)))
        ends = [*row.places[1:].tolist(), len(row.ids) - 1]
        read = [
            "".join(tokenizer.pieces[id].removeprefix("##") for id in row.ids[a:b])
            for a, b in zip(row.places, ends, strict=True)
        ]
        assert read == [word.lower() for word in words]
