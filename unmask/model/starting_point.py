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
    features: Mapping[str, str] | None = None,
    seed: int = 0,
) -> tuple[BertConfig, BertWithHead]:
    """The encoder with a head of fresh weights; a pooler that the head reads and the model lacks is fresh too.

    `positions` beyond the model's own are interpolated from them; further `segments` start as its last one; the last
    `fresh_layers` start anew; with `features` the head reads the layers that they name.
    """
    pooler = head in POOLED_HEADS and not features
    config = replace(
        opened.config,
        pooler=pooler,
        positions=positions or opened.config.positions,
        segments=max(segments, opened.config.segments),
    )
    if dropout is not None:
        config = replace(config, dropout=dropout, attention_dropout=dropout)
    bert = Bert(config, seed)
    known = opened.bert.state_dict()
    known[POSITIONS] = stretched(known[POSITIONS], config.positions)
    more = known[SEGMENTS][-1:].expand(config.segments - opened.config.segments, -1)
    known[SEGMENTS] = torch.cat([known[SEGMENTS], more])
    kept = {name: value for name, value in known.items() if _is_kept(name, config, fresh_layers)}
    bert.load_state_dict({**bert.state_dict(), **kept})
    if features:
        return config, BertWithHead(bert, make_feature_head(head, config, features, outputs=outputs, seed=seed + 1))
    return config, BertWithHead(bert, make_head(head, config, outputs=outputs, pooling=pooling, seed=seed + 1))


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


def _is_kept(name: str, config: BertConfig, fresh_layers: int) -> bool:
    if name.startswith("pooler."):
        return config.pooler and fresh_layers == 0
    return not name.startswith("layers.") or int(name.split(".")[1]) < config.layers - fresh_layers
