"""Published names and ours: complete, invertible, and the same as transformers' own."""

import pytest
import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import (
    HEAD_NAMES,
    from_google,
    published_names,
    standard_names,
    to_google,
    to_ours,
    to_published,
)

CONFIG = BertConfig(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=64, positions=64)
HEADS = pytest.mark.parametrize("head", HEAD_NAMES)


def state_of(head: str) -> dict[str, Tensor]:
    return BertWithHead(Bert(CONFIG), make_head(head, CONFIG, outputs=3)).state_dict()


def shapes_of(state: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in state.items()}


@HEADS
def test_every_parameter_has_a_published_name_and_comes_back(head: str) -> None:
    state = {name: torch.randn(tensor.shape) for name, tensor in state_of(head).items()}
    published = to_published(state, CONFIG, head)
    back, report = to_ours(published, shapes_of(state), published_names(CONFIG, head), "here")
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], state[name]) for name in state)
    assert set(report.used) == set(published)
    assert report.unused == ()


@HEADS
def test_google_s_spelling_is_invertible(head: str) -> None:
    for name in to_published(state_of(head), CONFIG, head):
        assert from_google(to_google(name)[0]) == name


@pytest.mark.parametrize(
    "name",
    [
        "global_step",
        "beta1_power",
        "bert/embeddings/word_embeddings/adam_v",
        "bert/embeddings/LayerNorm/beta/adam_m",
        "bert/encoder/layer_0/output/dense/kernel/Adam_1",
        "output_weights/adam_m",
        "_CHECKPOINTABLE_OBJECT_GRAPH",
    ],
)
def test_what_an_optimiser_left_has_no_published_name(name: str) -> None:
    assert from_google(name) is None


def test_old_and_bare_names_are_today_s_names() -> None:
    old = ["bert.embeddings.LayerNorm.beta", "encoder.layer.0.output.LayerNorm.gamma", "pooler.dense.bias"]
    new = ["bert.embeddings.LayerNorm.bias", "bert.encoder.layer.0.output.LayerNorm.weight", "bert.pooler.dense.bias"]
    assert list(standard_names(dict.fromkeys(old, torch.ones(1)))) == new


def test_position_numbers_are_no_weights() -> None:
    assert standard_names({"bert.embeddings.position_ids": torch.arange(5)}) == {}


def test_a_missing_tensor_is_named() -> None:
    state = state_of("span")
    published = to_published(state, CONFIG, "span")
    del published["bert.encoder.layer.1.attention.self.value.bias"]
    with pytest.raises(InputError, match=r"without the tensor 'bert.encoder.layer.1.attention.self.value.bias'"):
        to_ours(published, shapes_of(state), published_names(CONFIG, "span"), "here")


def test_a_wrong_shape_is_named_with_both_shapes() -> None:
    state = state_of("span")
    published = to_published(state, CONFIG, "span") | {"qa_outputs.weight": torch.ones(3, 32)}
    with pytest.raises(InputError, match=r"'qa_outputs.weight' of shape \[3, 32\] in here; wanted shape \[2, 32\]"):
        to_ours(published, shapes_of(state), published_names(CONFIG, "span"), "here")


def test_an_unused_tensor_is_reported() -> None:
    state = state_of("span")
    published = to_published(state, CONFIG, "span") | {"classifier.weight": torch.ones(3, 32)}
    report = to_ours(published, shapes_of(state), published_names(CONFIG, "span"), "here")[1]
    assert report.unused == ("classifier.weight",)


def test_an_equal_copy_of_the_tied_decoder_is_taken_and_another_refused() -> None:
    state = state_of("masked_words")
    published, names = to_published(state, CONFIG, "masked_words"), published_names(CONFIG, "masked_words")
    words = published["bert.embeddings.word_embeddings.weight"]
    tied = published | {"cls.predictions.decoder.weight": words.clone()}
    assert to_ours(tied, shapes_of(state), names, "here")[1].unused == ()
    with pytest.raises(InputError, match="shares the word embeddings"):
        to_ours(tied | {"cls.predictions.decoder.weight": words + 1}, shapes_of(state), names, "here")


def test_a_bias_that_is_stored_with_the_decoder_alone_is_found() -> None:
    assert "cls.predictions.bias" in standard_names({"cls.predictions.decoder.bias": torch.ones(3)})


def test_half_precision_becomes_float32() -> None:
    state = state_of("span")
    published = {name: tensor.half() for name, tensor in to_published(state, CONFIG, "span").items()}
    back = to_ours(published, shapes_of(state), published_names(CONFIG, "span"), "here")[0]
    assert {tensor.dtype for tensor in back.values()} == {torch.float32}
