"""A fresh encoder that begins by looking at neighbours."""

import pytest
import torch

from unmask.data.ragged import pack
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.local_start import LOCAL_LAYERS, distance, frequencies, look_at_neighbours, reading, sinusoids


def test_a_rotation_moves_the_code_of_a_position_by_any_distance() -> None:
    rates = frequencies(32, 64)
    codes = sinusoids(64, rates)
    for moved in (-3, 1, 5):
        expected = reading(rates, 0, 1, 0) @ codes[20 + moved]
        assert torch.allclose(reading(rates, 0, 1, moved) @ codes[20], expected, atol=1e-5)


def test_the_heads_share_the_rates_among_them() -> None:
    rates = frequencies(32, 64)
    read = torch.cat([reading(rates, head, 4, 0) for head in range(4)])
    assert torch.equal(read.T @ read, torch.eye(32))  # every number is read by exactly one head


@pytest.mark.parametrize("size", ["tiny", "mini"])
def test_each_head_of_the_first_layers_looks_most_at_its_distance(size: str) -> None:
    bert = Bert(BertConfig.named(size, vocabulary_size=300)).eval()
    look_at_neighbours(bert)
    ids = torch.randint(5, 300, (80,), generator=torch.Generator().manual_seed(1)).tolist()
    attention = bert(pack([ids]), keep_attention=True).attention
    for layer in range(LOCAL_LAYERS):
        maps = attention[layer][0][0].detach()  # (H, S, S)
        for head in range(bert.config.heads):
            seen = {moved: float(maps[head].diagonal(moved).mean()) for moved in range(-6, 7)}
            assert max(seen, key=lambda moved: seen[moved]) == distance(head)
            assert seen[distance(head)] > 0.25


def test_the_seed_decides_and_upper_layers_start_as_usual() -> None:
    config = BertConfig.named("mini", vocabulary_size=50)
    plain, one, same, other = (Bert(config, seed=3) for _ in range(4))
    look_at_neighbours(one, 1)
    look_at_neighbours(same, 1)
    look_at_neighbours(other, 2)
    assert torch.equal(one.layers[0].qkv.weight, same.layers[0].qkv.weight)
    assert not torch.equal(one.layers[0].qkv.weight, other.layers[0].qkv.weight)
    assert torch.equal(one.layers[LOCAL_LAYERS].qkv.weight, plain.layers[LOCAL_LAYERS].qkv.weight)
    assert torch.equal(one.embeddings.words.weight, plain.embeddings.words.weight)
