"""How alike words are, by people and by a model: lines of two words and a score in, a rank correlation out.

A model that reads context is given each word alone; a word's vector is the mean of its pieces and of all layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.tasks.metrics import spearman
from unmask.text.tokenizer import Tokenizer

FEWEST = 3  # pairs; fewer have no order worth a figure
BATCH = 512  # words at once


@dataclass(frozen=True)
class WordPair:
    """Two words and how alike people find them."""

    first: str
    second: str
    score: float


def read_similarity(path: Path) -> list[WordPair]:
    """The pairs of a file, words and score with blanks, tabs or commas between; a first line without score is a header.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "pairs.txt"
    >>> _ = place.write_text("one two score\\nsea ocean 9\\nsea,lamp,1\\nship boat 8.5\\n")
    >>> [pair.second for pair in read_similarity(place)]
    ['ocean', 'lamp', 'boat']
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--similarity {path} ({error})", wanted="a text file") from None
    pairs = []
    for number, line in enumerate(lines, start=1):
        words = line.replace(",", " ").split()
        if len(words) == 3 and _is_number(words[2]):
            pairs.append(WordPair(words[0], words[1], float(words[2])))
        elif words and number > 1:
            raise InputError(f"{path}, line {number}: {line!r}", wanted="two words and a number")
    if len(pairs) < FEWEST:
        raise InputError(f"{path} with {len(pairs)} pairs", wanted=f"at least {FEWEST} lines of two words and a number")
    return pairs


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def similarity(encoder: nn.Module, tokenizer: Tokenizer, pairs: Sequence[WordPair]) -> float | None:
    """Spearman's correlation of a model's cosines with people's scores; none where it knows too few of the words."""
    words = sorted({word for pair in pairs for word in (pair.first, pair.second)})
    unknown = tokenizer.pieces.index("[UNK]")
    known = [word for word, ids in zip(words, tokenizer.ids_batch(words), strict=True) if ids and unknown not in ids]
    asked = [pair for pair in pairs if {pair.first, pair.second} <= {*known}]
    if len(asked) < FEWEST:
        return None
    vectors = dict(zip(known, word_vectors(encoder, tokenizer, known), strict=True))
    return spearman(
        [pair.score for pair in asked], [float(vectors[pair.first] @ vectors[pair.second]) for pair in asked]
    )


def word_vectors(encoder: nn.Module, tokenizer: Tokenizer, words: Sequence[str]) -> NDArray[np.float32]:
    """A vector of length one for each word, read alone."""  # (N, D)
    found = []
    for start in range(0, len(words), BATCH):
        ids = [encoding.ids for encoding in tokenizer.encode_batch(words[start : start + BATCH])]
        batch = pack(ids)
        with torch.inference_mode():
            layers = encoder(batch, keep_layers=True).layers
        mean = torch.stack(layers).mean(0).numpy()  # (T, D)
        found += [part[1:-1].mean(0) for part in batch.split(mean)]  # without [CLS] and [SEP]
    vectors = np.stack(found)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-9)
    return unit
