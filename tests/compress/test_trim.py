"""Trimming: kept texts are answered as before, no word of their script becomes unknown, heads shrink too."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stores import TEXTS, TOKENIZER, model

from unmask.compress.trim import needed_pieces, trim
from unmask.data.ragged import pack
from unmask.model.about import About
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, Pretraining
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

NEEDED = TEXTS[:9]
KEPT = needed_pieces(TOKENIZER, NEEDED)
SMALLER = trim(model(None), TOKENIZER, NEEDED)[1]


def test_pieces_that_nobody_needs_are_gone() -> None:
    assert len(KEPT) < TOKENIZER.size
    assert SMALLER.pieces == tuple(TOKENIZER.pieces[id] for id in KEPT)
    assert set(SPECIAL_PIECES) <= set(SMALLER.pieces)


@given(st.lists(st.sampled_from(SMALLER.pieces), max_size=8))
def test_a_text_of_kept_pieces_is_encoded_as_before(pieces: list[str]) -> None:
    text = " ".join(pieces).replace(" ##", "")
    before = TOKENIZER.encode(text).pieces
    if set(before) <= set(SMALLER.pieces):
        assert SMALLER.encode(text).pieces == before


@given(st.text(alphabet="abcdefghiklmnopqrstuvwxy ", max_size=20))
def test_no_word_becomes_unknown(text: str) -> None:
    known = "[UNK]" not in TOKENIZER.encode(text).pieces
    assert not known or "[UNK]" not in SMALLER.encode(text).pieces


@pytest.mark.parametrize("head", ["classes", "pretraining", "masked_words"])
def test_answers_on_kept_texts_are_the_same_bit_for_bit(head: str, tmp_path: Path) -> None:
    whole = model(head)
    small, tokenizer = trim(whole, TOKENIZER, NEEDED)
    assert isinstance(whole, BertWithHead)
    assert isinstance(small, BertWithHead)
    batches = [pack([one.encode(text).ids for text in NEEDED]) for one in (TOKENIZER, tokenizer)]
    before, after = whole(batches[0]), small(batches[1])
    if isinstance(whole.head, Pretraining):
        assert torch.equal(before[1], after[1])
        before, after = before[0], after[0]
    expected = before if head == "classes" else before[:, KEPT]
    assert torch.allclose(after, expected, atol=1e-6)
    about = About(head=head, labels=("bad", "good") if head == "classes" else ())
    save_model(tmp_path / "small", small.bert.config, small, tokenizer, about)
    opened = open_model(tmp_path / "small")
    assert opened.config.vocabulary_size == opened.tokenizer.size == len(KEPT)
    again = opened.model(batches[1])
    assert torch.equal(again[0] if head == "pretraining" else again, after)


def test_a_piece_that_no_characters_can_stand_in_for_stays() -> None:
    tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "ab", "##c", "ac"])
    assert [tokenizer.pieces[id] for id in needed_pieces(tokenizer, ["a"])][5:] == ["a", "ab", "##c"]


def test_characters_of_a_script_that_texts_do_not_use_go() -> None:
    tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "b", "##b", "好", "人", "7", "%", "я"])
    kept = [tokenizer.pieces[id] for id in needed_pieces(tokenizer, ["a"])][5:]
    assert kept == ["a", "b", "##b", "7", "%"]
    both = [tokenizer.pieces[id] for id in needed_pieces(tokenizer, ["a 好"])][5:]
    assert both == ["a", "b", "##b", "好", "人", "7", "%"]


def test_one_foreign_word_stays_without_its_script() -> None:
    tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "好", "人"])
    kept = [tokenizer.pieces[id] for id in needed_pieces(tokenizer, ["a " * 2000, "好"])][5:]
    assert kept == ["a", "好"]
