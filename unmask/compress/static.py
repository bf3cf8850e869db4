"""Static vectors: every piece has one vector, whatever stands beside it; a text's vector is their mean.

An encoder comes in, an embedding model of no layers goes out: each piece is read by itself once, the vectors are turned
so that the directions in which they differ most come first, cut, and frequent pieces count less (as in model2vec; the
weights are those of Arora et al., 2017). Hundreds of times faster than its teacher, and blind to word order.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unmask.compress.student import principal_directions
from unmask.data.rows import Row
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, Embedding
from unmask.model.outputs import outputs_of
from unmask.text.tokenizer import Tokenizer

RARE = 1e-3  # the frequency at which a piece counts half
NO_NORM = 1e8  # added to a variance it leaves nothing of it: layer norm then only takes off the mean, which is 0 here


def static_vectors(
    bert: Bert,
    tokenizer: Tokenizer,
    *,
    width: int = 256,
    pooling: str = "mean",
    counts: Mapping[int, int] | None = None,
) -> BertWithHead:
    """An embedding model of one vector a piece; `counts` says how often pieces occur, their order if not given.

    >>> from unmask.model.config import BertConfig
    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "snow"])
    >>> model = static_vectors(Bert(BertConfig.named("tiny", vocabulary_size=7)), tokenizer, width=3)
    >>> model.bert.config.layers, model.bert.embeddings.words.weight.shape
    (0, torch.Size([7, 3]))
    """
    read = piece_vectors(bert, tokenizer, pooling)  # (V, D)
    spoken = torch.from_numpy(~tokenizer.special)
    read[spoken] -= read[spoken].mean(0)
    read[~spoken] = 0.0  # [CLS] and [SEP] stand in every text, and say nothing of it
    cut = read @ principal_directions(read, width - 1)  # (V, W - 1)
    weighted = cut * torch.from_numpy(weights(tokenizer, counts))[:, None]
    return _table(bert, weighted @ without_mean(width))


def piece_vectors(bert: Bert, tokenizer: Tokenizer, pooling: str = "mean") -> Tensor:
    """What the encoder makes of each piece alone."""  # (V, D)
    rows = [Row([tokenizer.cls_id, id, tokenizer.sep_id], [0] * 3, id) for id in range(tokenizer.size)]
    return torch.from_numpy(np.stack(outputs_of(BertWithHead(bert, Embedding(pooling)), rows)))


def weights(tokenizer: Tokenizer, counts: Mapping[int, int] | None) -> NDArray[np.float32]:
    """What each piece counts: less the more frequent it is. Without counts Zipf's law tells, by order."""
    seen = np.array([(counts or {}).get(id, 0) + 1.0 for id in range(tokenizer.size)])
    frequencies = seen if counts else 1 / np.arange(1, tokenizer.size + 1)
    frequencies = np.where(tokenizer.special, 0, frequencies)
    found: NDArray[np.float64] = RARE / (RARE + frequencies / frequencies.sum())
    return found.astype(np.float32)


def without_mean(width: int) -> Tensor:
    """Rows at right angles to one another and to (1, …, 1): whatever is made of them has no mean to lose.

    >>> rows = without_mean(4)
    >>> rows.shape, bool((rows @ rows.T).allclose(torch.eye(3), atol=1e-6)), bool((rows.sum(1).abs() < 1e-6).all())
    (torch.Size([3, 4]), True, True)
    """  # (W - 1, W)
    ones = torch.ones(width, 1, dtype=torch.float64)
    whole, _ = torch.linalg.qr(torch.cat([ones, torch.eye(width, dtype=torch.float64)[:, 1:]], 1))
    rows: Tensor = whole[:, 1:].T.float()
    return rows


def _table(bert: Bert, rows: Tensor) -> BertWithHead:
    """A BERT of no layers whose embeddings are these rows: the published form, which every tool opens."""
    config = replace(
        bert.config,
        vocabulary_size=len(rows),
        width=rows.shape[1],
        layers=0,
        heads=1,
        feed_forward=rows.shape[1],
        norm_epsilon=NO_NORM,
        pooler=False,
        pruned_heads=(),
    )
    table = Bert(config)
    with torch.no_grad():
        table.embeddings.words.weight.copy_(rows)
        table.embeddings.positions.weight.zero_()
        table.embeddings.segments.weight.zero_()
        table.embeddings.norm.weight.fill_(NO_NORM**0.5)
    return BertWithHead(table, Embedding("mean")).eval()
