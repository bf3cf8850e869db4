"""What a model says of rows: one array for each row, in the rows' order, whatever batches they went through in."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.data.batches import BATCH_TOKENS, batches_by_length
from unmask.data.ragged import Ragged
from unmask.data.rows import Row
from unmask.model.feature_cache import CachedFeatures
from unmask.model.heads import BertWithHead

Report = Callable[[int, int], None]  # told after each batch: tokens done, tokens in all


def outputs_of(
    model: BertWithHead | CachedFeatures,
    rows: Sequence[Row],
    *,
    tokens: int = BATCH_TOKENS,
    precision: torch.dtype = torch.float32,  # of products
    report: Report = lambda *_: None,
) -> list[NDArray[np.float32]]:
    """The head's numbers for each row: a vector where the head reads sequences, a vector a token where it reads tokens.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import make_head
    >>> config = BertConfig.named("tiny", vocabulary_size=9)
    >>> rows = [Row([2, 7, 8, 3], [0] * 4, 0), Row([2, 3], [0] * 2, 1)]
    >>> for head in ("classes", "tokens"):
    ...     model = BertWithHead(Bert(config), make_head(head, config, outputs=5)).eval()
    ...     print([output.shape for output in outputs_of(model, rows)])
    [(5,), (5,)]
    [(4, 5), (2, 5)]
    """
    found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(rows)
    done, total = 0, sum(len(row.ids) for row in rows)
    ids, segments = [row.ids for row in rows], [row.segments for row in rows]
    model.eval()
    device = next(model.parameters()).device.type
    for which, batch in batches_by_length(ids, segments, tokens=tokens):
        with torch.inference_mode(), torch.autocast(device, precision, enabled=precision != torch.float32):
            numbers = model(batch).float().cpu().numpy()
        for row, part in zip(which, _parts(model, batch, numbers), strict=True):
            found[row] = part
        done += len(batch.ids)
        report(done, total)
    return found


def _parts(
    model: BertWithHead | CachedFeatures, batch: Ragged, numbers: NDArray[np.float32]
) -> list[NDArray[np.float32]]:
    """What is said of each sequence of a batch; rows after the last token belong to all of them, and end each part."""
    if not model.per_token:
        return list(batch.restore(numbers))
    tokens = len(batch.ids)
    return [np.concatenate([part, numbers[tokens:]]) for part in batch.split(numbers[:tokens])]
