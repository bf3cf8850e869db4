"""Self-attention over a ragged batch, a group of its sequences at a time.

In: queries, keys and values of all tokens, (T, 3D). Out: what each token gathered from its own sequence, (T, D).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.model.chosen import Chosen
from unmask.model.dropout import Chance, scale, threshold
from unmask.model.groups import Groups, Stacks

CACHED_NUMBERS = 1 << 18  # attention probabilities worked on at a time: 1 MB stays in a core's cache


def attend(
    qkv: Tensor,
    groups: Groups,
    heads: int,
    *,
    causal: bool = False,
    rate: float = 0.0,
    chance: Chance | None = None,
    place: int = 0,
) -> Tensor:
    """Every token looks at all tokens of its own sequence (or, if causal, at those up to itself)."""
    gathered = []
    for number, (rows, group) in enumerate(zip(_split(qkv, groups), groups, strict=True)):
        q, k, v = group.apart(rows).unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)  # (n, H, S, K) each
        context = _gather(q, k, v, group.seen, causal, rate, chance, place + (number << 16))
        gathered.append(group.together(context))
    return gathered[0] if len(gathered) == 1 else torch.cat(gathered)


def attend_from(
    chosen: Chosen,
    q: Tensor,
    kv: Tensor,
    groups: Groups,
    heads: int,
    *,
    rate: float = 0.0,
    chance: Chance | None = None,
    place: int = 0,
) -> Tensor:
    """The chosen tokens alone look at all tokens of their own sequences."""  # (R, D), (T, 2D) -> (R, D)
    asking = q[chosen.slots].split([group.count * each for group, each in zip(groups, chosen.queries, strict=True)])
    gathered = []
    for number, (ask, rows, group) in enumerate(zip(asking, _split(kv, groups), groups, strict=True)):
        queries = ask.view(group.count, -1, heads, ask.shape[-1] // heads).transpose(1, 2)  # (n, H, Q, K)
        k, v = group.apart(rows).unflatten(2, (2, heads, -1)).permute(2, 0, 3, 1, 4)  # (n, H, S, K) each
        gathered.append(_gather(queries, k, v, group.seen, False, rate, chance, place + (number << 16)))
    return torch.cat(gathered)[chosen.back]


def _split(rows: Tensor, groups: Groups) -> Sequence[Tensor]:
    parts: Sequence[Tensor] = rows.split([group.tokens for group in groups])
    return parts


def _gather(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    seen: Tensor | None,
    causal: bool,
    rate: float,
    chance: Chance | None,
    place: int,
) -> Tensor:
    """What the queries of one group gather."""  # (n, H, Q, K) -> (n·Q, D)
    level = threshold(rate)
    if causal:
        seen = None  # padding comes after all tokens of its sequence
    if level and chance is not None:
        keep = chance.keep(place, (*q.shape[:3], k.shape[2]), level, q.device)
        context: Tensor = _DroppedAttention.apply(q, k, v, seen, keep, scale(level), causal)  # type: ignore[no-untyped-call]
    else:
        mask = None if seen is None else seen.expand(-1, -1, q.shape[2], -1)
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return context.transpose(1, 2).reshape(q.shape[0] * q.shape[2], -1)


def attention_maps(qkv: Tensor, stacks: Stacks, heads: int, *, causal: bool = False) -> list[Tensor]:
    """The attention probabilities themselves, one (n, H, S, S) for each stack."""
    maps = []
    for rows, (count, length) in zip(qkv.split([n * s for n, s in stacks]), stacks, strict=True):
        q, k, _ = rows.view(count, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        maps.append(_probabilities(q, k, None, causal))
    return maps


def _probabilities(q: Tensor, k: Tensor, seen: Tensor | None, causal: bool) -> Tensor:
    scores = (q @ k.transpose(-2, -1)).mul_(1 / math.sqrt(q.shape[-1]))  # (n, H, Q, S)
    if seen is not None:
        scores.masked_fill_(~seen, -math.inf)
    if causal:
        hidden = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        scores.masked_fill_(hidden, -math.inf)
    return torch.softmax(scores, -1)


class _DroppedAttention(torch.autograd.Function):
    """Attention with dropout on its probabilities, a few sequences at a time so that they stay in the cache.

    The probabilities are computed again in the backward pass: the products are a few per cent of a layer's work,
    and (n, H, Q, S) is by far the largest thing a layer would have to keep.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, keep: Tensor, scale: float, causal: bool
    ) -> Tensor:
        ctx.save_for_backward(q, k, v, seen, keep)
        ctx.scale, ctx.causal = scale, causal
        count, heads, length, width = q.shape
        context = q.new_empty(count, length, heads, width)
        for part in _parts(keep):
            dropped = _probabilities(q[part], k[part], _of(seen, part), causal).mul_(keep[part]).mul_(scale)
            context[part] = (dropped @ v[part]).transpose(1, 2)
        return context.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, seen, keep = ctx.saved_tensors
        to_q, to_k, to_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        for part in _parts(keep):
            probabilities = _probabilities(q[part], k[part], _of(seen, part), ctx.causal)
            weight = keep[part].to(q.dtype) * ctx.scale
            arriving = gradient[part].to(q.dtype)
            to_v[part] = (probabilities * weight).transpose(-2, -1) @ arriving
            back = (arriving @ v[part].transpose(-2, -1)).mul_(weight)
            back = back.sub_((back * probabilities).sum(-1, keepdim=True)).mul_(probabilities)
            back = back.mul_(1 / math.sqrt(q.shape[-1]))
            to_q[part] = back @ k[part]
            to_k[part] = back.transpose(-2, -1) @ q[part]
        return to_q, to_k, to_v, None, None, None, None


def _of(seen: Tensor | None, part: slice) -> Tensor | None:
    return None if seen is None else seen[part]


def _parts(keep: Tensor) -> list[slice]:
    """Slices of the sequences such that each slice's probabilities fit in the cache."""
    step = max(1, CACHED_NUMBERS // keep[0].numel())
    return [slice(start, start + step) for start in range(0, len(keep), step)]
