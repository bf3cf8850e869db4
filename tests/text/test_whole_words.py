"""Whole words: which marks hold words together, beside words as an annotator divides them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.text.whole_words import whole_words
from unmask.text.word_spans import word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The U.S. won.", "The U.S. won ."),
        ("J.P. Morgan's U.S.-based firm", "J.P. Morgan 's U.S.-based firm"),
        ("Coca-Cola, AT&T: ann@sea.org", "Coca-Cola , AT&T : ann@sea.org"),
        ("O'Neill (we're late, they’ll come)", "O'Neill ( we 're late , they ’ll come )"),
        ("'Rock'n'roll' -- well- so", "' Rock'n'roll ' - - well - so"),
        ("J. K. Lee, e.g. in x-y. Then", "J. K. Lee , e.g. in x-y . Then"),
        ("北京-A股, U.S.的", "北 京 - A 股 , U.S. 的"),
        ("x - y ...", "x - y . . ."),
    ],
)
def test_words_are_those_of_an_annotator(text: str, words: str) -> None:
    assert [text[start:end] for start, end in whole_words(text, word_spans(text))] == words.split()


@given(st.text(alphabet="aé.-'&sS 北京1 \u0301😀", max_size=30))
def test_no_character_is_lost_or_read_twice(text: str) -> None:
    small, whole = word_spans(text), whole_words(text, word_spans(text))
    assert {start for start, _ in whole} <= {start for start, _ in small}
    assert [place for span in whole for place in range(*span)] == [place for span in small for place in range(*span)]
