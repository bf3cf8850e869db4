"""Counting words block by block against splitting the whole text at once."""

import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers

from unmask.errors import InputError
from unmask.text import words
from unmask.text.characters import Rewriting
from unmask.text.words import count_words

AWKWARD = st.sampled_from(
    ["ΟΔΟΣ ", *"aZ9 \n\t\r\x0b\x0c\x1c\x85\u2028\u3000\u00a0,.'-é\u0301ΣİǅßｆＦ中豈𠀀かカ한\u200b\u200d\x00\ufffd😀م"]
)
awkward_text = st.lists(AWKWARD | st.characters(exclude_categories=["Cs"]), max_size=40).map("".join)


def counted_at_once(text: str, *, cased: bool, split_chinese: bool) -> Counter[str]:
    """The library's own two steps on the whole text."""
    rewriting = Rewriting(cased=cased, strip_accents=not cased, split_chinese=split_chinese)
    normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=split_chinese, strip_accents=not cased, lowercase=not cased
    )
    normalised = normalizer.normalize_str(rewriting.rewrite(text))
    return Counter(word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalised))


@given(awkward_text, st.booleans(), st.booleans())
def test_counting_agrees_with_splitting_the_whole_text(text: str, cased: bool, split_chinese: bool) -> None:
    expected = counted_at_once(text, cased=cased, split_chinese=split_chinese)
    assert count_words([text], cased=cased, split_chinese=split_chinese) == expected


@given(st.lists(awkward_text), st.integers(0, 3))
def test_few_cuttings_held_at_once_give_the_same_counts(texts: list[str], most: int) -> None:
    expected = count_words(texts)
    with patch.object(words, "MOST_CUTTINGS", most):
        assert count_words(texts) == expected


def test_accents_can_be_kept_in_lower_case_and_stripped_in_cased_text() -> None:
    assert count_words(["Café"], strip_accents=False) == {"café": 1}
    assert count_words(["Café"], cased=True, strip_accents=True) == {"Cafe": 1}


def test_half_a_character_is_the_users_error() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        count_words(["a \ud800 b"])


def sentences_without_blanks(number: int) -> Iterator[str]:
    """Chinese text of few characters in which no sentence comes twice."""
    chance = random.Random(0)
    for _ in range(number):
        yield "".join(chance.choices("春夏秋冬山水花鸟", k=500)) + "。\n"


def peak_memory(number: int) -> int:
    tracemalloc.start()
    count_words(sentences_without_blanks(number))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_text_of_the_same_words() -> None:
    peak_memory(1)
    assert peak_memory(500) < peak_memory(20) + 50_000
