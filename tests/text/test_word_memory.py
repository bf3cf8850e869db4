"""The ids of remembered words are the tokenizer's own, whatever the text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from unmask.text import word_memory
from unmask.text.tokenizer import SPECIAL_PIECES, Tokenizer
from unmask.text.word_memory import WordMemory

LETTERS = [*"abceinostuαλοσςé中文日\u0301'.-", "[", "]"]
PIECES = [*SPECIAL_PIECES, *LETTERS, *(f"##{letter}" for letter in LETTERS), "un", "##able", "cat", "Σ", "A", "##Σ"]
TOKENIZERS = [
    Tokenizer(PIECES),
    Tokenizer(PIECES, cased=True),
    Tokenizer(PIECES, split_chinese=False),
    Tokenizer(PIECES, strip_accents=False, max_word_length=5),
    Tokenizer([*PIECES, "a b", "cats"], added=[AddedToken("a b"), AddedToken("cats", single_word=True)]),
]
MEMORIES = [WordMemory(tokenizer) for tokenizer in TOKENIZERS]

nasty = st.lists(
    st.sampled_from(
        [
            *" \t\n\r\x00\x1c\x85\u3000\u200b\u0301abcABé中文豈Σσ'.-[]“—，＄\u2e4f\ue000\ufffd\U0002b820\U0001f600",
            *SPECIAL_PIECES,
            "[mask]",
            "unable",
            "cats",
            "ΑΣ.Α",
            "İ",
        ]
    )
).map("".join)


@pytest.mark.parametrize("which", range(len(TOKENIZERS)))
@settings(max_examples=300)
@given(texts=st.lists(st.one_of(nasty, st.text()), max_size=8))
@example(texts=["Σa B"])  # an added piece with a blank beside a sigma
def test_ids_are_those_of_the_tokenizer(which: int, texts: list[str]) -> None:
    ids, lengths = MEMORIES[which].encode(texts)
    expected = TOKENIZERS[which].ids_batch(texts)
    assert ids.tolist() == [id for row in expected for id in row]
    assert lengths.tolist() == [len(row) for row in expected]


def test_every_character_keeps_its_neighbours_apart_as_the_tokenizer_does() -> None:
    texts = [
        f"a{chr(code)}b {chr(code)}" for code in [*range(0x3500), *range(0xF8F0, 0x10000), *range(0x20000, 0x20010)]
    ]
    for tokenizer, memory in zip(TOKENIZERS, MEMORIES, strict=True):
        ids, lengths = memory.encode(texts)
        expected = tokenizer.ids_batch(texts)
        assert lengths.tolist() == [len(row) for row in expected]
        assert ids.tolist() == [id for row in expected for id in row]


def test_a_full_memory_starts_afresh_and_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = WordMemory(TOKENIZERS[0])
    before = memory.encode(["cat unable", "cat 中文"])
    monkeypatch.setattr(word_memory, "MOST_WORDS", 1)
    after = memory.encode(["cat unable", "cat 中文"])
    assert before[0].tolist() == after[0].tolist()


def test_a_vocabulary_of_more_than_16_bits() -> None:
    pieces = [*SPECIAL_PIECES, *(f"w{number}" for number in range(1 << 16))]
    ids, _ = WordMemory(Tokenizer(pieces)).encode(["w65535 w0"])
    assert ids.tolist() == [65540, 5]
