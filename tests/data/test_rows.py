"""Texts as rows: how long ones are cut, and that windows leave nothing out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.rows import LONG_TEXT, check_long_text, cut, sequences, shares, text_rows, window_starts
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abcdefgh"])


@given(st.integers(0, 60), st.integers(1, 20), st.integers(1, 20))
def test_windows_cover_every_piece_and_are_full(length: int, room: int, stride: int) -> None:
    stride = min(stride, room)
    starts = window_starts(length, room, stride)
    covered = {place for start in starts for place in range(start, min(start + room, length))}
    assert covered == set(range(length))
    assert all(start + room <= length for start in starts) or starts == [0]
    assert starts == sorted(set(starts))


@given(st.integers(0, 40), st.integers(0, 40), st.integers(2, 40))
def test_a_pair_is_cut_as_the_tokenizer_cuts_it(first: int, second: int, room: int) -> None:
    one, other = "a " * first, "b " * second
    encoding = TOKENIZER.encode(one, other, max_length=room + 3)
    found = sequences(TOKENIZER, [5] * first, [6] * second, longest=room + 3)
    assert [(tuple(ids), tuple(segments)) for ids, segments in found] == [(encoding.ids, encoding.segments)]
    assert sum(shares(first, second, room)) == min(first + second, room)


@pytest.mark.parametrize(
    ("long_text", "kept"),
    [("head", [[0, 1, 2, 3]]), ("tail", [[4, 5, 6, 7]]), ("head+tail", [[0, 5, 6, 7]]), ("windows", None)],
)
def test_a_long_text_is_read_as_asked(long_text: str, kept: list[list[int]] | None) -> None:
    parts = cut(list(range(8)), 4, long_text)
    if kept is None:
        kept = [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
    assert [list(part) for part in parts] == kept
    assert cut([1, 2], 4, long_text) == [[1, 2]]


@pytest.mark.parametrize("long_text", LONG_TEXT)
def test_no_row_is_too_long(long_text: str) -> None:
    texts = [("a b c d e f g h", None), ("a b c d e f g h", "a b"), ("a", "h g f e d c b a"), ("a b c d", "e f g h")]
    rows = text_rows(TOKENIZER, texts, longest=8, long_text=long_text)
    assert all(len(row.ids) <= 8 and len(row.segments) == len(row.ids) for row in rows)
    assert sorted({row.example for row in rows}) == [0, 1, 2, 3]


def test_windows_of_a_pair_run_over_the_longer_text_on_either_side() -> None:
    pieces = TOKENIZER.ids_batch(["a b c d e f", "g h"])
    for first, second in (pieces, pieces[::-1]):
        found = sequences(TOKENIZER, first, second, longest=8, long_text="windows")
        assert len(found) == 4
        assert all(ids.count(11) == ids.count(12) == 1 for ids, _ in found)  # the shorter is in every window


def test_an_unknown_way_of_reading_is_refused() -> None:
    with pytest.raises(InputError, match="head, tail"):
        check_long_text("middle")
