"""Features: the hidden states that transformers has for the same weights, in the user's order, whatever the batches."""

import json

import numpy as np
import pytest
import torch
import transformers

from unmask.apps.features import POOLINGS, Features
from unmask.errors import InputError
from unmask.model.heads import BertWithHead
from unmask.text.tokenizer import Tokenizer

TEXTS = ["the cat sat on the mat.", "天地", "rain", "it was unable, and she walked", ""]


@pytest.fixture(scope="module")
def features(model: BertWithHead, tokenizer: Tokenizer) -> Features:
    return Features(model, tokenizer)


@pytest.fixture(scope="module")
def expected(theirs: transformers.BertForPreTraining, tokenizer: Tokenizer) -> list[torch.Tensor]:
    """For each text the states of all layers in transformers, alone in its batch."""  # (layers + 1, S, D)
    with torch.inference_mode():
        ids = [torch.tensor([tokenizer.encode(text).ids]) for text in TEXTS]
        return [torch.cat(theirs.bert(one, output_hidden_states=True).hidden_states) for one in ids]


def test_pieces_have_the_states_of_transformers(features: Features, expected: list[torch.Tensor]) -> None:
    found = features.pieces(TEXTS, layers=(-1, 0))
    for vectors, states in zip(found.vectors, expected, strict=True):
        np.testing.assert_allclose(vectors, torch.cat([states[-1], states[0]], -1).numpy(), atol=2e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_texts_have_the_pooled_states_of_transformers(
    features: Features, expected: list[torch.Tensor], pooling: str
) -> None:
    obvious = {"mean": lambda states: states.mean(1), "max": lambda states: states.amax(1), "cls": lambda s: s[:, 0]}
    pooled = torch.stack([obvious[pooling](states)[[-1, -2]].flatten() for states in expected])
    np.testing.assert_allclose(features(TEXTS, layers=(-1, -2), pooling=pooling).vectors, pooled.numpy(), atol=2e-5)


def test_many_batches_come_back_in_the_order_given(features: Features) -> None:
    texts = ["the cat " * (i % 17) for i in range(600)]
    vectors = features(texts).vectors
    for i in (0, 1, 299, 599):
        np.testing.assert_allclose(vectors[i], features(texts[i]).vectors[0], atol=2e-5)


def test_pieces_come_with_their_places_in_the_text(features: Features) -> None:
    text = "She walked. "
    answer = features.pieces(text).to_dict()
    assert answer["pieces"] == [["[CLS]", "she", "walk", "##ed", ".", "[SEP]"]]
    assert [text[start:end] for start, end in answer["offsets"][0]] == ["", "She", "walk", "ed", ".", ""]
    assert (answer["width"], answer["pooling"], len(answer["vectors"][0])) == (32, None, 6)


def test_the_answer_is_the_contracts_json(features: Features) -> None:
    answer = json.loads(json.dumps(features("rain", layers=(-1, -2)).to_dict()))
    (vector,) = answer.pop("vectors")
    assert answer == {"layers": [-1, -2], "pooling": "mean", "width": 64}
    assert len(vector) == 64


def test_a_bare_encoder_will_do(model: BertWithHead, tokenizer: Tokenizer, features: Features) -> None:
    assert (Features(model.bert, tokenizer)("rain").vectors == features("rain").vectors).all()


def test_a_long_text_is_cut_and_says_where(features: Features) -> None:
    assert features(["rain", "rain" * 1 + " rain" * 99]).cuts == (None, 4 + 5 * 37)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"layers": (3,)}, "got layer 3; wanted 0"),
        ({"layers": (-4,)}, "got layer -4"),
        ({"layers": ()}, "no layers"),
        ({"pooling": "sum"}, "wanted mean or cls or max"),
    ],
)
def test_what_is_not_there_is_refused(features: Features, asked: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        features("rain", **asked)  # type: ignore[arg-type]


def test_no_texts_are_refused(features: Features) -> None:
    with pytest.raises(InputError, match="no texts"):
        features([])
