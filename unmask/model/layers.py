"""The parts of the encoder: embeddings, and the post-norm layer of Vaswani et al. (2017) as BERT uses it.

Everything here works on the tokens of a whole ragged batch, (T, D); only attention knows where a sequence ends.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmask.model.attention import attend, attend_from, attention_maps
from unmask.model.chosen import Chosen
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance, drop, drop_add
from unmask.model.groups import Groups, Stacks


def _gelu_new(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "gelu_new": _gelu_new, "relu": F.relu}


class Embeddings(nn.Module):
    """Word + position + segment, normalised."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocabulary_size, config.width)
        self.positions = nn.Embedding(config.positions, config.width)
        self.segments = nn.Embedding(config.segments, config.width)
        self.norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.rate = config.dropout

    def forward(self, ids: Tensor, segments: Tensor, positions: Tensor, chance: Chance | None = None) -> Tensor:
        """One vector for each token."""  # (T,) x 3 -> (T, D)
        summed = self.words(ids) + self.segments(segments) + self.positions(positions)
        return drop(self.norm(summed), self.rate, chance, place=0)


class Layer(nn.Module):
    """One encoder layer: attention, then a feed-forward part, each added to its input and normalised."""

    def __init__(self, config: BertConfig, number: int) -> None:
        super().__init__()
        self.heads, self.activation = config.heads_of(number), config.activation
        attended = self.heads * config.head_width  # H · K: the width, unless heads were taken out
        self.qkv = nn.Linear(config.width, 3 * attended)  # one product in place of three
        self.attention_out = nn.Linear(attended, config.width)
        self.attention_norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.up = nn.Linear(config.width, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.width)
        self.output_norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.rate, self.attention_rate = config.dropout, config.attention_dropout
        self.place = 3 * number + 1  # of this layer's three dropouts among the model's

    def forward(
        self,
        x: Tensor,
        groups: Groups,
        chance: Chance | None = None,
        causal: bool = False,
        chosen: Chosen | None = None,
    ) -> Tensor:
        """The hidden states after this layer, of all tokens or of the chosen ones."""  # (T, D) -> (T, D) or (R, D)
        rate, place = self.attention_rate, self.place
        if chosen is None:
            context = attend(self.qkv(x), groups, self.heads, causal=causal, rate=rate, chance=chance, place=place)
        else:
            assert not causal, "left to right every token is read"
            q, kv = self._queries(x, chosen.places)
            context = attend_from(chosen, q, kv, groups, self.heads, rate=rate, chance=chance, place=place)
            x = x[chosen.places]
        x = self.attention_norm(drop_add(x, self.attention_out(context), self.rate, chance, self.place + 1))
        output: Tensor = self.output_norm(drop_add(x, self.feed_forward(x), self.rate, chance, self.place + 2))
        return output

    def _queries(self, x: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Queries of some tokens, and keys and values of all."""  # (T, D) -> (R, H·K), (T, 2·H·K)
        third = self.qkv.out_features // 3
        to_q, to_kv = self.qkv.weight.split([third, 2 * third])
        q_bias, kv_bias = self.qkv.bias.split([third, 2 * third])
        return F.linear(x[places], to_q, q_bias), F.linear(x, to_kv, kv_bias)

    def feed_forward(self, x: Tensor) -> Tensor:
        """Wide, bent, and narrow again."""  # (T, D) -> (T, D)
        parts = x, self.up.weight, self.up.bias, self.down.weight, self.down.bias
        if self.activation == "gelu" and not torch.is_autocast_enabled(x.device.type):
            narrowed: Tensor = _FeedForward.apply(*parts)  # type: ignore[no-untyped-call]
        else:
            narrowed = self.down(ACTIVATIONS[self.activation](self.up(x)))
        return narrowed

    def maps(self, x: Tensor, stacks: Stacks, causal: bool = False) -> list[Tensor]:
        """What each head of this layer attends to, given the layer's input: (n, H, S, S) for each stack."""
        return attention_maps(self.qkv(x), stacks, self.heads, causal=causal)


class _FeedForward(torch.autograd.Function):
    """Linear, gelu, linear. Keeps (T, 4D) once, not twice: gelu is computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, up: Tensor, up_bias: Tensor, down: Tensor, down_bias: Tensor) -> Tensor:
        wide = F.linear(x, up, up_bias)  # (T, F)
        ctx.save_for_backward(x, wide, up, down)
        return F.linear(F.gelu(wide), down, down_bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, wide, up, down = ctx.saved_tensors
        to_wide = torch.ops.aten.gelu_backward(gradient @ down, wide)
        if not any(ctx.needs_input_grad[1:]):  # where words are explained the weights stay as they are
            return to_wide @ up, None, None, None, None
        return to_wide @ up, to_wide.T @ x, to_wide.sum(0), gradient.T @ F.gelu(wide), gradient.sum(0)
