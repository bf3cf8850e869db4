from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.model.heads import BertWithHead, make_head, pool

SMALL = BertConfig(vocabulary_size=50, width=32, layers=2, heads=4, feed_forward=64, positions=24)


@pytest.mark.parametrize(("size", "parameters"), [("base", 109_482_240), ("large", 335_141_888)])
def test_the_published_sizes_have_the_published_number_of_parameters(size: str, parameters: int) -> None:
    with torch.device("meta"):
        bert = Bert(BertConfig.named(size))
    assert sum(part.numel() for part in bert.parameters()) == parameters
    assert BertConfig.named(size).parameters == parameters


@pytest.mark.parametrize("size", ["tiny", "mini", "small", "medium"])
def test_the_formula_counts_what_the_model_has(size: str) -> None:
    config = BertConfig.named(size, vocabulary_size=100)
    assert sum(part.numel() for part in Bert(config).parameters()) == config.parameters


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.integers(5, 49), min_size=1, max_size=12), min_size=1, max_size=8))
def test_batch_mates_and_their_order_do_not_change_a_row(rows: list[list[int]]) -> None:
    bert = Bert(SMALL)
    together = pack(rows)
    hidden = together.split(bert(together).hidden.detach().numpy())
    for row, found in zip(rows, hidden, strict=True):
        np.testing.assert_allclose(found, bert(pack([row])).hidden.detach().numpy(), rtol=0, atol=2e-5)


def test_a_sequence_longer_than_the_positions_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="25 pieces; wanted at most 24"):
        Bert(SMALL)(pack([[7] * 25]))


def test_recomputing_layers_gives_the_same_gradients_with_dropout() -> None:
    gradients = []
    for recompute in (False, True):
        bert = Bert(SMALL, seed=1)
        bert.recompute = recompute
        bert(pack([[3, 4, 5], [6, 7]]), chance=Chance(1, 2)).hidden.square().sum().backward()
        gradients.append(torch.cat([part.grad.flatten() for part in bert.parameters() if part.grad is not None]))
    assert torch.equal(*gradients)


def test_a_causal_encoder_sees_nothing_of_what_follows() -> None:
    bert = Bert(SMALL)
    one, other = (bert(pack([[3, 4, 5, last]]), causal=True).hidden for last in (6, 7))
    torch.testing.assert_close(one[:3], other[:3])
    assert not torch.allclose(one[3], other[3])


def test_a_model_that_says_it_is_causal_is_so_without_being_asked_and_pools_the_last_token() -> None:
    bert, batch = Bert(replace(SMALL, causal=True)), pack([[3, 4, 5, 6], [7, 8]])
    encoded = bert(batch, rows=batch.starts)
    torch.testing.assert_close(encoded.hidden, Bert(SMALL)(batch, causal=True).hidden)
    assert bert.pooler is not None
    torch.testing.assert_close(encoded.pooled, torch.tanh(bert.pooler(encoded.hidden[[1, 5]])))


def test_dropout_with_causal_attention_sees_nothing_of_what_follows() -> None:
    bert = Bert(SMALL)
    one, other = (bert(pack([[3, 4, 5, last]]), causal=True, chance=Chance(0, 0)).hidden for last in (6, 7))
    torch.testing.assert_close(one[:3], other[:3])


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_pooling_is_the_obvious_one(pooling: str) -> None:
    batch = pack([[3, 4, 5], [6], [7, 8, 9]])
    encoded = Bert(SMALL)(batch)
    rows = encoded.hidden.split(batch.lengths.tolist())
    obvious = {"mean": lambda row: row.mean(0), "max": lambda row: row.max(0).values, "cls": lambda row: row[0]}
    expected = torch.stack([obvious[pooling](row) for row in rows])
    torch.testing.assert_close(pool(encoded.hidden, encoded, pooling), expected)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    one, same, other = (Bert(SMALL, seed=seed).embeddings.words.weight for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_every_parameter_of_every_head_gets_a_gradient() -> None:
    for name in ("pretraining", "classes", "tokens", "span", "choice"):
        model = BertWithHead(Bert(SMALL), make_head(name, SMALL))
        answered = model(pack([[3, 4, 5], [6, 7]]))
        sum(part.square().sum() for part in (answered if isinstance(answered, tuple) else (answered,))).backward()
        unreached = {key for key, part in model.named_parameters() if part.grad is None}
        assert unreached <= {"bert.pooler.weight", "bert.pooler.bias"}, name
