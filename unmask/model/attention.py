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
from unmask.model.groups import Group, Groups, Stacks

SINGLE = 4  # bytes of a float32
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
        context = _gather(None, rows, group, heads, causal, rate, chance, place + (number << 16))
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
        gathered.append(_gather(queries, rows, group, heads, False, rate, chance, place + (number << 16)))
    return torch.cat(gathered)[chosen.back]


def _split(rows: Tensor, groups: Groups) -> Sequence[Tensor]:
    parts: Sequence[Tensor] = rows.split([group.tokens for group in groups])
    return parts


def _gather(
    q: Tensor | None,
    rows: Tensor,
    group: Group,
    heads: int,
    causal: bool,
    rate: float,
    chance: Chance | None,
    place: int,
) -> Tensor:
    """What queries gather from the keys and values of one group; without any, its rows begin with their own."""
    learns = rows.dtype == torch.bfloat16 and rows.requires_grad
    if rows.is_cpu and rows.dtype.itemsize < SINGLE and not learns:  # answers are not rounded more than they must be
        with torch.autocast("cpu", enabled=False):
            return _gather(None if q is None else q.float(), rows.float(), group, heads, causal, rate, chance, place)
    level = threshold(rate)
    seen = None if causal else group.seen  # left to right, padding comes after all tokens of its sequence
    asking = group.length if q is None else q.shape[2]
    keep = None
    if level and chance is not None:
        keep = chance.keep(place, (group.count, heads, asking, group.length), level, rows.device)
    # products of stacks in bfloat16 take a sixth of float32's time on CPUs that have them; torch's kernel gains nothing
    if keep is not None or (rows.is_cpu and learns):
        laid = _Laid.apply(rows, group, 3 if q is None else 2, heads)  # type: ignore[no-untyped-call]
        context: Tensor = _OwnAttention.apply(q, laid, seen, keep, scale(level), causal)  # type: ignore[no-untyped-call]
    else:
        parts = group.apart(rows).unflatten(2, (3 if q is None else 2, heads, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = parts if q is None else (q, *parts)  # (n, H, S, K) each
        mask = None if seen is None else seen.expand(-1, -1, asking, -1)
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal).transpose(1, 2)
    return context.reshape(group.count * asking, -1)  # (n·Q, D)


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


class _Laid(torch.autograd.Function):
    """Rows of tokens as a stack of sequences for each of their parts, such as queries, keys and values.

    A place behind a sequence's end repeats a token: what is masked may be any number.
    """  # (tokens, P·H·K) -> (P, n, H, S, K)

    @staticmethod
    def forward(ctx: Any, rows: Tensor, group: Group, parts: int, heads: int) -> Tensor:
        ctx.places = group.places
        wide = rows if group.sources is None else rows.index_select(0, group.sources)
        stacks = wide.view(group.count, group.length, parts, heads, rows.shape[1] // (parts * heads))
        return stacks.permute(2, 0, 3, 1, 4).contiguous()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        wide = gradient.permute(1, 3, 0, 2, 4).flatten(2).flatten(0, 1)
        return wide if ctx.places is None else wide.index_select(0, ctx.places), None, None, None


class _OwnAttention(torch.autograd.Function):
    """Attention with dropout on its probabilities, or in half precision, a few sequences at a time so that they stay
    in the cache.

    The probabilities are computed again in the backward pass: the products are a few per cent of a layer's work,
    and (n, H, Q, S) is by far the largest thing a layer would have to keep. Gradients go straight to where they belong
    in the stacks.
    """  # (n, H, Q, K) or none, (2 or 3, n, H, S, K) -> (n, Q, H, K)

    @staticmethod
    def forward(
        ctx: Any, q: Tensor | None, laid: Tensor, seen: Tensor | None, keep: Tensor | None, scale: float, causal: bool
    ) -> Tensor:
        ctx.save_for_backward(q, laid, seen, keep)
        ctx.scale, ctx.causal = scale, causal
        queries, k, v = laid if q is None else (q, *laid)
        count, heads, length, width = queries.shape
        context: Tensor = queries.new_empty(count, length, heads, width)
        for part in _parts(queries, k):
            dropped = _probabilities(queries[part], k[part], _of(seen, part), causal)
            if keep is not None:
                dropped = dropped.mul_(keep[part]).mul_(scale)
            context[part] = (dropped @ v[part]).transpose(1, 2)
        return context

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, laid, seen, keep = ctx.saved_tensors
        to_laid = torch.empty_like(laid)
        to_q = None if q is None else torch.empty(q.shape, dtype=q.dtype, device=q.device)
        queries, k, v = laid if q is None else (q, *laid)
        to_queries, to_k, to_v = to_laid if to_q is None else (to_q, *to_laid)
        arriving = gradient.transpose(1, 2).to(laid.dtype).contiguous()  # (n, H, Q, K)
        for part in _parts(queries, k):
            probabilities = _probabilities(queries[part], k[part], _of(seen, part), ctx.causal)
            weight = None if keep is None else keep[part].to(laid.dtype).mul_(ctx.scale)
            dropped = probabilities if weight is None else probabilities * weight
            torch.matmul(dropped.transpose(-2, -1), arriving[part], out=to_v[part])
            back = arriving[part] @ v[part].transpose(-2, -1)
            back = back if weight is None else back.mul_(weight)
            back = back.sub_((back * probabilities).sum(-1, keepdim=True)).mul_(probabilities)
            back = back.mul_(1 / math.sqrt(queries.shape[-1]))
            torch.matmul(back, k[part], out=to_queries[part])
            torch.matmul(back.transpose(-2, -1), queries[part], out=to_k[part])
        return to_q, to_laid, None, None, None, None


def _of(seen: Tensor | None, part: slice) -> Tensor | None:
    return None if seen is None else seen[part]


def _parts(queries: Tensor, keys: Tensor) -> list[slice]:
    """Slices of the sequences such that each slice's probabilities fit in the cache."""
    count, heads, asking, _ = queries.shape
    step = max(1, CACHED_NUMBERS // (heads * asking * keys.shape[2]))
    return [slice(start, start + step) for start in range(0, count, step)]
