"""Static vectors as an encoder: one vector for each piece in, a BERT without layers out, whose embeddings they are.

Everything that reads features of a BERT reads them as well: heads, caches, folders. Positions and segments are zero, so
that a piece has the same vector wherever it stands; the embeddings' norm brings all vectors to one length.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import save_model
from unmask.text.tokenizer import Tokenizer


def static_encoder(vectors: NDArray[np.float32]) -> Bert:
    """An encoder that gives every piece its vector, normed.

    >>> from unmask.data.ragged import pack
    >>> bert = static_encoder(np.array([[0, 0], [3, 1], [1, 3]], np.float32))
    >>> bert(pack([[1, 2, 1]])).hidden.round().tolist()
    [[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]
    """
    size, width = vectors.shape
    bert = Bert(BertConfig(vocabulary_size=size, width=width, layers=0, heads=1, feed_forward=width, pooler=False))
    with torch.no_grad():
        bert.embeddings.words.weight.copy_(torch.from_numpy(vectors))
        bert.embeddings.positions.weight.zero_()
        bert.embeddings.segments.weight.zero_()
    return bert.eval()


def save_static(folder: Path, vectors: NDArray[np.float32], tokenizer: Tokenizer, source: str) -> None:
    """Writes the vectors as a model folder; `source` says where they come from."""
    bert = static_encoder(vectors)
    save_model(folder, bert.config, bert, tokenizer, About(provenance={"vectors": source}))
