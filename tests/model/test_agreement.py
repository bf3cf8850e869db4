"""Every head agrees with its counterpart in transformers: answers and gradients, padded there and ragged here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from unmask.data.ragged import Ragged, pack
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import published_names

TOLERANCE = {"rtol": 0, "atol": 2e-5}
CONFIG = BertConfig(
    vocabulary_size=97, width=32, layers=3, heads=4, feed_forward=64, positions=40, dropout=0.0, attention_dropout=0.0
)
LENGTHS = [7, 1, 12, 7, 30, 2, 12]
COUNTERPARTS: dict[str, tuple[str, dict[str, Any], Callable[[Any], tuple[Tensor, ...]]]] = {
    "pretraining": ("BertForPreTraining", {}, lambda o: (o.prediction_logits, o.seq_relationship_logits)),
    "masked_words": ("BertForMaskedLM", {}, lambda o: (o.logits,)),
    "next_sentence": ("BertForNextSentencePrediction", {}, lambda o: (o.logits,)),
    "classes": ("BertForSequenceClassification", {"num_labels": 3}, lambda o: (o.logits,)),
    "regression": ("BertForSequenceClassification", {"num_labels": 1}, lambda o: (o.logits,)),
    "tokens": ("BertForTokenClassification", {"num_labels": 5}, lambda o: (o.logits,)),
    "span": ("BertForQuestionAnswering", {}, lambda o: (torch.stack([o.start_logits, o.end_logits], -1),)),
}


def sequences(lengths: list[int] = LENGTHS) -> tuple[list[list[int]], list[list[int]]]:
    chance = np.random.default_rng(3)
    ids = [chance.integers(5, CONFIG.vocabulary_size, length).tolist() for length in lengths]
    return ids, [[int(place > length // 2) for place in range(length)] for length in lengths]


def padded(ids: list[list[int]], segments: list[list[int]]) -> dict[str, Tensor]:
    longest = max(map(len, ids))

    def fill(rows: list[list[int]]) -> Tensor:
        return torch.tensor([row + [0] * (longest - len(row)) for row in rows])

    return {
        "input_ids": fill(ids),
        "token_type_ids": fill(segments),
        "attention_mask": fill([[1] * len(row) for row in ids]),
    }


def theirs_of(architecture: str, **settings: Any) -> nn.Module:
    torch.manual_seed(0)
    config = transformers.BertConfig(**CONFIG.to_published(), attn_implementation="eager", **settings)
    return getattr(transformers, architecture)(config)


def copy_weights(theirs: nn.Module, config: BertConfig, head: str | None, outputs: int = 2) -> nn.Module:
    """Their random weights in our modules."""
    bert = Bert(config)
    ours = BertWithHead(bert, make_head(head, config, outputs=outputs)) if head else BertWithHead(bert, nn.Identity())
    state = theirs.state_dict()
    prefix = "" if any(name.startswith("bert.") for name in state) else "bert."
    state = {prefix + name: tensor for name, tensor in state.items()}
    names = published_names(config, head)
    ours.load_state_dict({name: torch.cat([state[part] for part in parts]) for name, parts in names.items()})
    return ours


def rows_like_ours(logits: Tensor, batch: Ragged) -> Tensor:
    """Their padded logits in the order of our ragged batch: a row for each token, or one for each sequence."""
    ordered = logits[torch.from_numpy(batch.order)]
    if logits.ndim == 2:
        return ordered
    return torch.cat([row[:length] for row, length in zip(ordered, batch.lengths.tolist(), strict=True)])


def pair_of(head: str) -> tuple[nn.Module, nn.Module]:
    architecture, settings, _ = COUNTERPARTS[head]
    theirs = theirs_of(architecture, **settings)
    pooler = getattr(theirs.bert, "pooler", None) is not None
    config = BertConfig(**{**CONFIG.__dict__, "pooler": pooler})
    return theirs, copy_weights(theirs, config, head, settings.get("num_labels", 2))


@pytest.mark.parametrize("head", COUNTERPARTS)
def test_every_head_gives_the_logits_of_its_counterpart(head: str) -> None:
    theirs, ours = pair_of(head)
    ids, segments = sequences()
    batch = pack(ids, segments)
    expected = [rows_like_ours(part, batch) for part in COUNTERPARTS[head][2](theirs.eval()(**padded(ids, segments)))]
    answered = ours(batch)
    for ours_part, theirs_part in zip(answered if isinstance(answered, tuple) else (answered,), expected, strict=True):
        torch.testing.assert_close(ours_part, theirs_part, **TOLERANCE)


@pytest.mark.parametrize("head", COUNTERPARTS)
def test_every_gradient_is_that_of_the_counterpart(head: str) -> None:
    theirs, ours = pair_of(head)
    ids, segments = sequences()
    batch = pack(ids, segments)
    answered = ours(batch)
    ours_parts = answered if isinstance(answered, tuple) else (answered,)
    theirs_parts = [
        rows_like_ours(part, batch) for part in COUNTERPARTS[head][2](theirs.eval()(**padded(ids, segments)))
    ]
    for parts in (ours_parts, theirs_parts):
        sum(part.tanh().mean() for part in parts).backward()
    expected = dict(theirs.named_parameters())
    for name, parts in published_names(ours.bert.config, head).items():
        gradient = torch.cat([expected[part].grad for part in parts])
        torch.testing.assert_close(ours.get_parameter(name).grad, gradient, **TOLERANCE, msg=name)


def test_multiple_choice_scores_each_choice_as_its_counterpart() -> None:
    theirs = theirs_of("BertForMultipleChoice")
    ours = copy_weights(theirs, CONFIG, "choice", outputs=1)
    ids, segments = sequences([5, 9, 9, 4, 12, 3])
    expected = theirs.eval()(**{name: part.view(3, 2, -1) for name, part in padded(ids, segments).items()}).logits
    batch = pack(ids, segments)
    torch.testing.assert_close(ours(batch)[np.argsort(batch.order)].view(3, 2), expected, **TOLERANCE)


def test_hidden_states_and_attention_maps_are_theirs() -> None:
    theirs = theirs_of("BertModel")
    ours = copy_weights(theirs, CONFIG, None).bert
    ids, segments = sequences()
    batch = pack(ids, segments)
    expected = theirs.eval()(**padded(ids, segments), output_hidden_states=True, output_attentions=True)
    encoded = ours(batch, keep_layers=True, keep_attention=True)
    for layer, hidden in zip(encoded.layers, expected.hidden_states, strict=True):
        torch.testing.assert_close(layer, rows_like_ours(hidden, batch), **TOLERANCE)
    torch.testing.assert_close(encoded.pooled, rows_like_ours(expected.pooler_output, batch), **TOLERANCE)
    for stacks, maps in zip(encoded.attention, expected.attentions, strict=True):
        ordered = [one for stack in stacks for one in stack]  # (H, S, S) each
        for one, place, length in zip(ordered, batch.order, batch.lengths, strict=True):
            torch.testing.assert_close(one, maps[place, :, :length, :length], **TOLERANCE)


@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
def test_other_activations_agree(activation: str) -> None:
    theirs = transformers.BertModel(transformers.BertConfig(**{**CONFIG.to_published(), "hidden_act": activation}))
    ours = copy_weights(theirs, BertConfig(**{**CONFIG.__dict__, "activation": activation}), None).bert
    ids, segments = sequences()
    batch = pack(ids, segments)
    expected = rows_like_ours(theirs.eval()(**padded(ids, segments)).last_hidden_state, batch)
    torch.testing.assert_close(ours(batch).hidden, expected, **TOLERANCE)
