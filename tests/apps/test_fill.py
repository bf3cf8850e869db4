"""Filling masks: what transformers says of the same weights, places in the user's text, and what is refused."""

import json

import pytest
import torch
import transformers

from unmask.apps.fill import Candidate, Filled, Filler, Mask
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, make_head
from unmask.text.tokenizer import Tokenizer

TEXTS = ["The [MASK] sat on the [MASK].", "天[MASK]人", "it was [MASK], and the small dog walked in the rain!"]


@pytest.fixture(scope="module")
def fill(model: BertWithHead, tokenizer: Tokenizer) -> Filler:
    return Filler(model, tokenizer)


@pytest.mark.parametrize("text", TEXTS)
def test_probabilities_are_those_of_transformers(
    fill: Filler, theirs: transformers.BertForPreTraining, tokenizer: Tokenizer, text: str
) -> None:
    ids = torch.tensor([tokenizer.encode(text).ids])
    with torch.inference_mode():
        expected = theirs(ids).prediction_logits[ids == tokenizer.mask_id].softmax(-1).topk(5)
    masks = fill(text).masks
    assert len(masks) == len(expected.values)
    for mask, probabilities, best in zip(masks, expected.values, expected.indices, strict=True):
        assert [candidate.token for candidate in mask.candidates] == [tokenizer.pieces[id] for id in best]
        torch.testing.assert_close(torch.tensor([c.probability for c in mask.candidates]), probabilities)


def test_masks_point_into_the_original_text(fill: Filler) -> None:
    for text in TEXTS:
        assert all(text[mask.start : mask.end] == "[MASK]" for mask in fill(text).masks)


def test_all_pieces_together_have_probability_one(fill: Filler, tokenizer: Tokenizer) -> None:
    (mask,) = fill("it is [MASK]", top=10_000).masks
    assert len(mask.candidates) == tokenizer.size
    assert sum(candidate.probability for candidate in mask.candidates) == pytest.approx(1)


def test_company_does_not_change_an_answer(fill: Filler) -> None:
    together = fill.many(TEXTS)
    for text, answer in zip(TEXTS, together, strict=True):
        alone = fill(text)
        assert answer.text == text
        for ours, lone in zip(answer.masks, alone.masks, strict=True):
            assert [c.token for c in ours.candidates] == [c.token for c in lone.candidates]
            assert [c.probability for c in ours.candidates] == pytest.approx(
                [c.probability for c in lone.candidates], abs=2e-5
            )


def test_the_answer_is_the_contracts_json(fill: Filler) -> None:
    answer = json.loads(json.dumps(fill("a [MASK]", top=1).to_dict()))
    (mask,) = answer.pop("masks")
    (candidate,) = mask.pop("candidates")
    assert (answer, mask) == ({"text": "a [MASK]"}, {"start": 2, "end": 8})
    assert list(candidate) == ["token", "probability"]


def test_a_continuing_piece_joins_the_word_before_it() -> None:
    mask = Mask(5, 11, (Candidate("##ing", 0.9),))
    assert Filled("walk [MASK] on", (mask,)).best == "walking on"


def test_a_head_for_masked_words_alone_will_do(model: BertWithHead, tokenizer: Tokenizer) -> None:
    alone = BertWithHead(model.bert, model.head.words)
    assert Filler(alone, tokenizer)("a [MASK]") == Filler(model, tokenizer)("a [MASK]")


def test_rows_beyond_the_vocabulary_are_never_answers(model: BertWithHead, tokenizer: Tokenizer) -> None:
    shorter = Tokenizer(tokenizer.pieces[:-5])
    (mask,) = Filler(model, shorter)("a [MASK]", top=10_000).masks
    assert len(mask.candidates) == shorter.size


@pytest.mark.parametrize("text", ["the cat sat", "", "the <mask> sat", "the [mask] sat"])
def test_a_text_without_a_mask_is_refused(fill: Filler, text: str) -> None:
    with pytest.raises(InputError, match=r"wanted \[MASK\] at each place"):
        fill(text)


def test_a_long_text_is_cut_and_says_where(fill: Filler) -> None:
    text = "[MASK]" + " cat" * 60
    answer = fill(text)
    assert answer.cut == len("[MASK]") + 4 * 37  # 40 positions: [CLS], the mask, 37 cats, [SEP]
    assert fill(text[: answer.cut]).masks == answer.masks


def test_a_mask_in_the_part_cut_off_is_refused(fill: Filler) -> None:
    with pytest.raises(InputError, match=r"a \[MASK\] behind character 154"):
        fill("[MASK]" + " cat" * 60 + " [MASK]")


def test_a_model_without_a_masked_word_head_is_refused(model: BertWithHead, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="the head Classes"):
        Filler(BertWithHead(model.bert, make_head("classes", model.bert.config)), tokenizer)
    with pytest.raises(InputError, match="no head"):
        Filler(Bert(model.bert.config), tokenizer)
