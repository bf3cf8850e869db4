"""How a vocabulary fits: against the tokenizer itself, and the suggestions against what adding them does."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.text.coverage import LONGEST_WORD, measure_coverage, missing_characters, suggest_additions, word_encoder
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PIECES = ["a", "ab", "b", "##a", "##b", "##ba", "abab", "c"]
some_words = st.dictionaries(st.text("abc", min_size=1, max_size=8), st.integers(1, 9), max_size=20)


@given(some_words)
def test_words_are_encoded_as_the_tokenizer_does(words: dict[str, int]) -> None:
    tokenizer = Tokenizer([*SPECIAL_PIECES, *PIECES])
    encode = word_encoder(PIECES)
    for word in words:
        assert (encode(word) or ["[UNK]"]) == list(tokenizer.encode(word).pieces[1:-1])


@given(some_words)
def test_adding_a_suggestion_saves_what_it_says(words: dict[str, int]) -> None:
    for addition in suggest_additions(PIECES, words, top=5):
        alone = {addition.word: addition.count}
        before, after = measure_coverage(PIECES, alone), measure_coverage([*PIECES, addition.word], alone)
        assert before.pieces - after.pieces == addition.saves > 0


@given(some_words)
def test_adding_the_missing_characters_leaves_nothing_unknown(words: dict[str, int]) -> None:
    missing = [piece for piece, _ in missing_characters(PIECES, words, top=99)]
    assert measure_coverage([*PIECES, *missing], words).unknown == 0


def test_a_word_that_is_too_long_is_unknown_but_suggests_nothing() -> None:
    words = {"a" * (LONGEST_WORD + 1): 3}
    assert measure_coverage(PIECES, words).unknown_rate == 1
    assert not suggest_additions(PIECES, words, top=5)
    assert not missing_characters(["b"], words, top=5)


def test_no_words_are_no_unknown_words() -> None:
    coverage = measure_coverage(PIECES, {})
    assert (coverage.unknown_rate, coverage.pieces_per_word) == (0, 0)
