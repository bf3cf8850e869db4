"""Whether one sentence follows another: what transformers says of the same weights."""

import pytest
import torch
import transformers

from unmask.apps.following import Following
from unmask.errors import InputError
from unmask.model.heads import BertWithHead
from unmask.text.tokenizer import Tokenizer

PAIRS = [("the cat sat.", "it was tall!"), ("天大", "a bird sang on a tree."), ("rain", "rain rain , snow")]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_probability_is_that_of_transformers(
    model: BertWithHead, theirs: transformers.BertForPreTraining, tokenizer: Tokenizer, first: str, second: str
) -> None:
    encoding = tokenizer.encode(first, second)
    with torch.inference_mode():
        answer = theirs(torch.tensor([encoding.ids]), token_type_ids=torch.tensor([encoding.segments]))
    expected = float(answer.seq_relationship_logits.softmax(-1)[0, 0])
    found = Following(model, tokenizer)(first, second)
    assert found.probability == pytest.approx(expected, abs=2e-5)
    assert found.to_dict() == {"label": "next" if expected > 0.5 else "not_next", "probability": found.probability}
    assert not found.cut


def test_the_order_of_the_two_matters(model: BertWithHead, tokenizer: Tokenizer) -> None:
    follows = Following(model, tokenizer)
    assert follows(*PAIRS[0]).probability != pytest.approx(follows(*PAIRS[0][::-1]).probability)


def test_texts_too_long_together_are_cut_and_say_so(model: BertWithHead, tokenizer: Tokenizer) -> None:
    follows = Following(model, tokenizer)
    whole = follows("cat " * 50, "a dog")
    assert whole.cut
    assert whole.probability == follows("cat " * 35, "a dog").probability  # [CLS] 35 [SEP] 2 [SEP]


def test_a_model_without_a_next_sentence_head_is_refused(model: BertWithHead, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="the head MaskedWords"):
        Following(BertWithHead(model.bert, model.head.words), tokenizer)


@pytest.mark.parametrize("pair", [("", "a dog"), ("a dog", " "), ("a \x00 dog", "it sang")])
def test_a_text_without_words_is_followed_by_nothing(
    model: BertWithHead, tokenizer: Tokenizer, pair: tuple[str, str]
) -> None:
    with pytest.raises(InputError, match=r"empty text|NUL"):
        Following(model, tokenizer)(*pair)
