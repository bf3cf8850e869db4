"""English words as the Penn Treebank has them: cases whose answers NLTK gave."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.tasks.treebank import treebank_words

CASES = {
    "didn't (ann's) cannot": "did n't ( ann 's ) can not",
    '"i\'m, well, home," he said.': "`` i 'm , well , home , '' he said .",
    "it cost $3,000.50; 20% less!": "it cost $ 3,000.50 ; 20 % less !",
    "the u.s. navy met dr. lee. he left...": "the u.s. navy met dr. lee . he left ...",
    "j. b. smith & co., ltd.": "j. b. smith & co. , ltd .",
    "1. the first. 2. the rest": "1. the first . 2. the rest",
    "at 10:30 they sang 'yes' twice": "at 10:30 they sang ' yes ' twice",
    "wanna see? gonna go": "wan na see ? gon na go",
    "'tis so – and they'll say <so>": "' tis so – and they 'll say < so >",
    'said so."then he left': "said so . `` then he left",
    "": "",
}


@pytest.mark.parametrize(("text", "words"), CASES.items())
def test_words_are_those_that_nltk_gave(text: str, words: str) -> None:
    assert treebank_words(text) == words.split()


@settings(deadline=None)
@given(st.text("ab1.,;!? ()'", max_size=20))
def test_no_character_but_space_is_lost(text: str) -> None:
    quotes = str.maketrans("", "", " '\"`")
    assert "".join(treebank_words(text)).translate(quotes) == text.translate(quotes)
