"""BM25 against its formula written out, and words of both languages."""

import math
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import InputError
from unmask.retrieve.lexical import Lexical, terms

TEXTS = [
    "Snow fell on the old town, and more snow.",
    "The baker of the old town lights his oven at four.",
    "面包师四点起床。",
    "老城下雪了，面包师在睡觉。",
    "",
]
words = st.lists(st.sampled_from([*"abcdefg", "雪", "老城"]), max_size=12).map(" ".join)


def slow_score(query: str, text: str, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> float:
    mean = max(sum(len(terms(other)) for other in texts) / len(texts), 1.0)
    score = 0.0
    for term in terms(query):
        holding = sum(term in terms(other) for other in texts)
        often = terms(text).count(term)
        rarity = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        score += rarity * often * (k1 + 1) / (often + k1 * (1 - b + b * len(terms(text)) / mean))
    return score


@pytest.mark.parametrize("query", ["old snow", "the the baker", "面包师睡觉", "nothing here", "", "老城 oven"])
def test_scores_are_those_of_the_formula(query: str) -> None:
    expected = [slow_score(query, text, TEXTS) for text in TEXTS]
    np.testing.assert_allclose(Lexical.of(TEXTS).scores(query), expected, rtol=1e-5)


@given(st.lists(words, min_size=1, max_size=8), words, st.integers(1, 9))
def test_the_best_are_a_stable_sort_of_the_scores(texts: list[str], query: str, top: int) -> None:
    lexical = Lexical.of(texts)
    scores = lexical.scores(query).tolist()
    ranked = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])
    assert lexical.best(query, top) == [(place, scores[place]) for place in ranked[:top]]


def test_no_texts_find_nothing() -> None:
    assert Lexical.of([]).best("snow", 3) == []
    assert Lexical.of(["", " ."]).best("snow", 3) == []


@given(st.text(string.printable))
def test_plain_words_are_what_stands_between_other_characters(text: str) -> None:
    assert terms(text) == "".join(c if c.isalnum() else " " for c in text.lower()).split()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ｂｅｒｔ２０２６", ["bert2026"]),
        ("naïve Straße", ["naive", "strasse"]),
        ("BERT模型好", ["bert", "模型", "型好"]),
        ("好", ["好"]),
        ("が", ["が"]),
        ("snake_case", ["snake", "case"]),
    ],
)
def test_words_are_the_same_however_they_are_written(text: str, wanted: list[str]) -> None:
    assert terms(text) == wanted


def test_what_was_saved_finds_the_same(tmp_path: Path) -> None:
    lexical = Lexical.of(TEXTS)
    lexical.save(tmp_path / "words.npz")
    for query in ("old snow", "老城"):
        assert (Lexical.load(tmp_path / "words.npz").scores(query) == lexical.scores(query)).all()


def test_no_texts_can_be_saved(tmp_path: Path) -> None:
    Lexical.of([]).save(tmp_path / "words.npz")
    assert Lexical.load(tmp_path / "words.npz").best("snow", 3) == []


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "words.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"words\.npz, which is damaged"):
        Lexical.load(tmp_path / "words.npz")
