"""A grown vocabulary: other texts exactly as before, new pieces as the mean of the old ones."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.growing import grow, new_words
from unmask.model.heads import BertWithHead, MaskedWords, Pretraining, make_head
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, *"abc", *(f"##{letter}" for letter in "abc"), "ca", "天"])
ADDITIONS = ["abba", "bac"]


def shape(vocabulary_size: int) -> BertConfig:
    return BertConfig(
        vocabulary_size=vocabulary_size, width=16, layers=2, heads=2, feed_forward=32, positions=40, initial_deviation=1
    )


def make(head: str, spare: int = 0) -> BertWithHead:
    config = shape(TOKENIZER.size + spare)
    model = BertWithHead(Bert(config), make_head(head, config)).eval()
    words = model.head.words if isinstance(model.head, Pretraining) else model.head
    if isinstance(words, MaskedWords):
        torch.nn.init.normal_(words.bias, generator=torch.Generator().manual_seed(5))
    return model


MODEL = make("pretraining")
GROWN, LARGER = grow(MODEL, TOKENIZER, ADDITIONS)


@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=5))
def test_texts_without_the_new_words_are_encoded_and_understood_exactly_as_before(words: list[str]) -> None:
    text = " ".join(word for word in words if not word.startswith(tuple(ADDITIONS)))
    before, after = TOKENIZER.encode(text), LARGER.encode(text)
    assert before == after
    with torch.inference_mode():
        ours, theirs = MODEL.bert(pack([before.ids])), GROWN.bert(pack([after.ids]))
    assert torch.equal(ours.hidden, theirs.hidden)


@pytest.mark.parametrize("head", ["pretraining", "masked_words"])
@pytest.mark.parametrize("spare", [0, 1, 7])
def test_each_new_row_is_the_mean_of_its_former_pieces(head: str, spare: int) -> None:
    model = make(head, spare)
    grown, larger = grow(model, TOKENIZER, ADDITIONS)
    for word in ADDITIONS:
        pieces = [TOKENIZER.pieces.index(piece) for piece in TOKENIZER.encode(word).pieces[1:-1]]
        new = larger.pieces.index(word)
        for before, after in zip(vocabulary_rows(model), vocabulary_rows(grown), strict=True):
            torch.testing.assert_close(after[new], sum(before[piece] for piece in pieces) / len(pieces))
            assert torch.equal(after[: TOKENIZER.size], before[: TOKENIZER.size])
            assert len(after) == max(len(before), larger.size)
    assert grown.bert.config.vocabulary_size == max(TOKENIZER.size + spare, larger.size)


def vocabulary_rows(model: BertWithHead) -> list[torch.Tensor]:
    head = model.head.words if isinstance(model.head, Pretraining) else model.head
    assert isinstance(head, MaskedWords)
    return [model.bert.embeddings.words.weight, head.bias]


def test_what_was_given_is_left_as_it_was() -> None:
    model = make("pretraining")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    grow(model, TOKENIZER, ADDITIONS)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.bert.config.vocabulary_size == TOKENIZER.size


def test_the_new_pieces_stand_at_the_end_and_are_whole_words() -> None:
    assert LARGER.pieces == (*TOKENIZER.pieces, *ADDITIONS)
    assert LARGER.encode("a ABBA").pieces == ("[CLS]", "a", "abba", "[SEP]")


def test_new_rows_can_learn() -> None:
    grown, larger = grow(MODEL, TOKENIZER, ADDITIONS)
    grown.bert(pack([larger.encode("abba").ids])).hidden.sum().backward()
    gradient = grown.bert.embeddings.words.weight.grad
    assert gradient is not None
    assert gradient[larger.pieces.index("abba")].abs().sum() > 0


def test_a_word_that_was_unknown_starts_as_the_unknown_piece() -> None:
    grown, larger = grow(MODEL, TOKENIZER, ["xyz"])
    rows = grown.bert.embeddings.words.weight
    assert torch.equal(rows[larger.pieces.index("xyz")], rows[TOKENIZER.unknown_id])


def test_pieces_that_are_there_are_not_added_twice() -> None:
    assert new_words(TOKENIZER, ["CA", "abba", "Abba"]) == ["abba"]


@pytest.mark.parametrize("addition", ["two words", "##ab", "天天", "", "ab-ba"])
def test_what_is_no_whole_word_is_refused(addition: str) -> None:
    with pytest.raises(InputError, match="whole words"):
        new_words(TOKENIZER, [addition])
