"""A fresh encoder that begins by looking at neighbours: positions as sinusoids, heads at fixed distances.

With random positions an encoder learns for a long time what words occur together and nothing of their order: to attend
to the next token it must first find a code for "next". Sinusoids are such a code (Vaswani et al., 2017): a rotation
moves them by any distance. Here the heads of the first layers start with that rotation. It is a start only: the model
is a plain BERT, and every weight goes on learning.
"""

import math

import torch
from torch import Tensor

from unmask.model.bert import Bert

LOCAL_LAYERS = 2  # from below; higher ones start as usual and are free for what is not local
AMPLITUDE = 0.08  # of positions: words start at 0.02 and grow to about this
SHORTEST_WAVE = math.pi  # in tokens: the finest difference of places that a head sees


@torch.no_grad()
def look_at_neighbours(bert: Bert, seed: int = 0) -> None:
    """Gives a fresh encoder its local start, in place; a function of the seed alone.

    >>> from unmask.data.ragged import pack
    >>> from unmask.model.config import BertConfig
    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=100))
    >>> look_at_neighbours(bert)
    >>> maps = bert(pack([list(range(20))]), keep_attention=True).attention[0][0][0].detach()  # (H, S, S)
    >>> back, ahead = maps[0].diagonal(-1).mean(), maps[1].diagonal(1).mean()
    >>> bool(back > 0.25), bool(ahead > 0.25)
    (True, True)
    """
    config = bert.config
    rates = frequencies(config.width, config.positions)
    bert.embeddings.positions.weight.copy_(AMPLITUDE * sinusoids(config.positions, rates))
    generator = torch.Generator().manual_seed(seed)
    for layer in bert.layers[: min(LOCAL_LAYERS, config.layers)]:
        queries, keys, values = layer.qkv.weight.split(config.width)
        for head, (query, key) in enumerate(
            zip(queries.split(config.head_width), keys.split(config.head_width), strict=True)
        ):
            query.copy_(reading(rates, head, config.heads, distance(head)))
            key.copy_(reading(rates, head, config.heads, 0))
        values.normal_(std=config.width**-0.5, generator=generator)


def frequencies(width: int, positions: int) -> Tensor:
    """How fast each pair of numbers turns, in radians a token, from fine to all positions."""  # (D/2,)
    return torch.logspace(math.log10(2 * math.pi / SHORTEST_WAVE), math.log10(math.pi / positions), width // 2)


def sinusoids(positions: int, rates: Tensor) -> Tensor:
    """The code of each position: sine and cosine of every rate, side by side."""  # (P, D)
    angles = torch.arange(positions)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


def distance(head: int) -> int:
    """How far from itself a head looks: one back, one ahead, two back, two ahead …

    >>> [distance(head) for head in range(4)]
    [-1, 1, -2, 2]
    """
    return (head // 2 + 1) * (1 if head % 2 else -1)


def reading(rates: Tensor, head: int, heads: int, moved: int) -> Tensor:
    """A head's matrix that reads the code of every `heads`-th rate, moved by so many tokens."""  # (D/H, D)
    chosen = torch.arange(head, len(rates), heads)
    sine, cosine = torch.sin(rates[chosen] * moved), torch.cos(rates[chosen] * moved)
    matrix = torch.zeros(len(chosen), 2, len(rates), 2)
    rows = torch.arange(len(chosen))
    matrix[rows, 0, chosen, 0], matrix[rows, 0, chosen, 1] = cosine, sine  # sin(a + b)
    matrix[rows, 1, chosen, 0], matrix[rows, 1, chosen, 1] = -sine, cosine  # cos(a + b)
    return matrix.reshape(2 * len(chosen), 2 * len(rates))
