"""A pretrained encoder under a fresh head: an opened model in, the model that a task begins with out."""

from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.feature_heads import make_feature_head
from unmask.model.folder import ModelFolder
from unmask.model.gathering import start_as_mean
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import POOLED_HEADS

POSITIONS, SEGMENTS = "embeddings.positions.weight", "embeddings.segments.weight"


def with_fresh_head(
    opened: ModelFolder,
    head: str,
    *,
    outputs: int = 2,
    pooling: str = "mean",
    dropout: float | None = None,
    positions: int | None = None,
    segments: int = 2,
    fresh_layers: int = 0,
    mean_start: bool = False,
    features: Mapping[str, str] | None = None,
    seed: int = 0,
) -> tuple[BertConfig, BertWithHead]:
    """The encoder with a head of fresh weights; a pooler that the head reads and the model lacks is fresh too.

    `positions` beyond the model's own are interpolated from them; further `segments` start as its last one; the last
    `fresh_layers` start anew, before a further one that a `mean_start` asks for; with `features` the head reads the
    layers that they name.
    """
    pooler = head in POOLED_HEADS and not features
    config = replace(
        opened.config,
        pooler=pooler,
        positions=positions or opened.config.positions,
        segments=max(segments, opened.config.segments),
    )
    if mean_start:
        config = with_layer(config)
    if dropout is not None:
        config = replace(config, dropout=dropout, attention_dropout=dropout)
    bert = Bert(config, seed)
    known = opened.bert.state_dict()
    known[POSITIONS] = stretched(known[POSITIONS], config.positions)
    more = known[SEGMENTS][-1:].expand(config.segments - opened.config.segments, -1)
    known[SEGMENTS] = torch.cat([known[SEGMENTS], more])
    anew = fresh_layers + mean_start
    kept = {name: value for name, value in known.items() if _is_kept(name, config, anew)}
    bert.load_state_dict({**bert.state_dict(), **kept})
    if mean_start:
        start_as_mean(bert.layers[-1])
    if features:
        return config, BertWithHead(bert, make_feature_head(head, config, features, outputs=outputs, seed=seed + 1))
    return config, BertWithHead(bert, make_head(head, config, outputs=outputs, pooling=pooling, seed=seed + 1))


def was_averaged(opened: ModelFolder, head: str) -> bool:
    """Whether a head would read [CLS] of an encoder that was trained by the mean of its tokens."""
    about = opened.about
    return head in POOLED_HEADS and about.head == "embedding" and about.pooling == "mean"


def with_layer(config: BertConfig) -> BertConfig:
    """The same with a layer more.

    >>> with_layer(BertConfig.named("tiny", pruned_heads=((), (1,)))).pruned_heads
    ((), (1,), ())
    """
    pruned = (*config.pruned_heads, ()) if config.pruned_heads else ()
    return replace(config, layers=config.layers + 1, pruned_heads=pruned)


def stretched(rows: Tensor, positions: int) -> Tensor:
    """Position embeddings for more positions, interpolated between those that were learned.

    >>> import torch
    >>> stretched(torch.tensor([[0.0], [2.0]]), 3).flatten().tolist()
    [0.0, 1.0, 2.0]
    """
    if positions <= len(rows):
        return rows[:positions]
    spread = F.interpolate(rows.T[None].float(), size=positions, mode="linear", align_corners=True)
    return spread[0].T.to(rows.dtype).contiguous()


def _is_kept(name: str, config: BertConfig, anew: int) -> bool:
    """Whether a weight is the model's own, below the layers that start anew."""
    if name.startswith("pooler."):
        return config.pooler and anew == 0
    return not name.startswith("layers.") or int(name.split(".")[1]) < config.layers - anew
