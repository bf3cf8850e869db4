"""Attention views: maps are those of transformers, pictures have what maps have, summaries are counted by hand."""

import re

import numpy as np
import pytest
import torch
import transformers
from small_models import small_model

from unmask.explain.attention_view import LEVELS, attention_view, head_view, model_view
from unmask.explain.heads import summary
from unmask.explain.rollout import attention_of, rolled_out
from unmask.explain.subjects import subject_of
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead
from unmask.model.names import published_names

PIECES = ["[CLS]", "the", "fox", "##s", "[SEP]"]


def theirs_of(opened: ModelFolder) -> transformers.BertForSequenceClassification:
    """The same weights in transformers, which computes its maps one step after the other."""
    settings = transformers.BertConfig(**opened.config.to_published(), num_labels=3, attn_implementation="eager")
    theirs = transformers.BertForSequenceClassification(settings).eval()
    ours, state = opened.model.state_dict(), {}
    for name, parts in published_names(opened.config, "classes").items():
        state |= dict(zip(parts, ours[name].chunk(len(parts)), strict=True))
    theirs.load_state_dict(state, strict=False)
    return theirs


def test_maps_are_those_of_transformers_eager_attention() -> None:
    opened = small_model("classes")
    subject = subject_of(opened, ("the quick foxs was lazy", "nobody had hoped"))
    ids, segments = (torch.from_numpy(part)[None] for part in (subject.reading.ids, subject.reading.segments))
    with torch.inference_mode():
        expected = theirs_of(opened)(input_ids=ids, token_type_ids=segments, output_attentions=True).attentions
    found = attention_of(subject, 0)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs[0], rtol=0, atol=1e-5)


def test_rollout_is_the_product_of_half_attention_and_half_staying() -> None:
    subject = subject_of(small_model("classes"), "the fox was lazy")
    layers = attention_of(subject, 0)
    product = np.eye(len(subject.reading.ids))
    for maps in layers:
        mean = maps.numpy().astype(float).mean(0)
        product = (0.5 * mean + 0.5 * np.eye(len(mean))) @ product
    np.testing.assert_allclose(rolled_out(layers), product, atol=1e-6)
    np.testing.assert_allclose(product.sum(1), 1, atol=1e-5)


def test_shares_of_a_head_are_counted_by_kind_of_token() -> None:
    words = np.array([-1, 0, 1, 1, -1])
    even = summary(np.full((5, 5), 0.2), words, PIECES)
    assert even == pytest.approx(
        {"itself": 0.2, "next": 0.16, "previous": 0.16, "same word": 0.08, "[CLS]": 0.2, "[SEP]": 0.2}
    )
    to_separator = np.zeros((5, 5))
    to_separator[:, 4] = 1
    assert summary(to_separator, words, PIECES)["[SEP]"] == 1


def test_a_head_view_has_a_line_for_each_strong_attention() -> None:
    map_ = np.eye(5) * 0.9
    map_[0, 4] = 0.1
    map_[1, 0] = 0.01
    drawn = head_view(map_, PIECES, "head 1")
    assert len(re.findall(r"M\d+ \d+L", drawn)) == 6
    assert drawn.count("<path") == 2
    assert drawn.count(">fox</text>") == 2


def test_a_model_view_has_a_map_for_each_head_and_draws_every_cell_that_is_seen() -> None:
    subject = subject_of(small_model("classes"), "the fox was lazy")
    layers = [maps.double().numpy() for maps in attention_of(subject, 0)]
    drawn = model_view(layers)
    assert drawn.count("<title>") == 8
    cells = sum(int(length) for length in re.findall(r"M\d+ \d+h(\d+)", drawn))
    assert cells == sum((np.rint(np.sqrt(maps) * LEVELS) > 0).sum() for maps in layers)


def test_the_whole_view_has_every_layer_and_escapes_pieces() -> None:
    subject = subject_of(small_model("classes"), "the fox was lazy")
    assert isinstance(subject.model, BertWithHead)
    view = attention_view(subject)
    assert view.count("<summary>layer ") == 2
    assert view.count("<figure>") == 8
    assert "<x>" not in head_view(np.eye(1), ["<x>"], "<x>")
