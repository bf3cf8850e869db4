"""Initial vectors: a tokenizer and a file of word vectors come in, the first state of the word embeddings goes out.

A piece that is a word of the file takes its vector. Another takes the mean of the words that are encoded with it. What
remains, special pieces among it, is drawn as BERT draws all of it, from N(0, 0.02), and the vectors of the file are
brought to the same scale. Where widths differ, a linear map that keeps angles brings vectors to the model's: a random
rotation into more dimensions, the best approximation (by singular values), then rotated, into fewer. Rotated, because
every dimension of the model's heads should start with its share.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.model.vector_files import VectorFile, open_vectors
from unmask.text.coverage import word_encoder
from unmask.text.tokenizer import Tokenizer
from unmask.text.words import word_splitter

DEVIATION = 0.02  # of BERT's initial weights
COMPOSING_WORDS = 200_000  # the most frequent words, from which pieces that are no words are composed

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class VectorCoverage:
    """Where the vectors of a vocabulary come from."""

    words: int  # pieces that are words of the file
    composed: int  # pieces of words of the file
    drawn: int  # pieces that the file says nothing about

    @property
    def share(self) -> float:
        """The part of the vocabulary that the file covers."""
        return (self.words + self.composed) / (self.words + self.composed + self.drawn)


def piece_vectors(
    tokenizer: Tokenizer, path: Path, width: int, generator: np.random.Generator
) -> tuple[Matrix, VectorCoverage]:
    """Initial word embeddings (V, D) from a file of word vectors, and how far it covers the vocabulary.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("the 1 0\\nking 0 1\\nkings 0 3\\n")
    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "king", "##s"])
    >>> matrix, coverage = piece_vectors(tokenizer, path, 2, np.random.default_rng(0))
    >>> coverage
    VectorCoverage(words=2, composed=1, drawn=5)
    >>> (matrix[5:] / matrix[5, 0]).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]]
    """
    with open_vectors(path) as file:
        vectors, is_word, is_composed = _gather(tokenizer, file)
    if not is_word.any():
        do = "choose vectors of the same language and casing"
        raise InputError(f"{path} without a word of the vocabulary", wanted="words in common", do=do)
    covered = is_word | is_composed
    matrix = generator.normal(0, DEVIATION, (tokenizer.size, width)).astype(np.float32)  # (V, D)
    projected = project(vectors[covered], width, generator)
    matrix[covered] = projected * (DEVIATION / np.sqrt(np.mean(projected**2)))
    words = int(is_word.sum())
    return matrix, VectorCoverage(words, int(covered.sum()) - words, int((~covered).sum()))


def project(vectors: Matrix, width: int, generator: np.random.Generator) -> Matrix:
    """Vectors (N, d) in another width (N, D), their products kept: exactly into more dimensions, best into fewer.

    >>> wide = project(np.array([[3, 4], [0, 2]], np.float32), 5, np.random.default_rng(0))
    >>> (wide @ wide.T).round(4).tolist()
    [[25.0, 8.0], [8.0, 4.0]]
    """
    own = vectors.shape[1]
    if own == width:
        return vectors
    kept = min(own, width)
    _, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)  # ascending: the strongest are last
    rotation, _ = np.linalg.qr(generator.normal(size=(width, kept)))
    return np.asarray(vectors @ (directions[:, -kept:] @ rotation.T), dtype=np.float32)  # (N, D)


def _gather(tokenizer: Tokenizer, file: VectorFile) -> tuple[Matrix, NDArray[np.bool_], NDArray[np.bool_]]:
    """Each piece's vector by the file (V, d), whether it is that of a word, and whether it is composed."""
    pieces_of = _word_ids(tokenizer)
    vectors = np.zeros((tokenizer.size, file.width), dtype=np.float32)
    sums = np.zeros((tokenizer.size, file.width), dtype=np.float64)
    counts = np.zeros(tokenizer.size, dtype=np.int64)
    is_word, is_exact = np.zeros((2, tokenizer.size), dtype=np.bool_)
    for number, (word, vector) in enumerate(file.rows):
        ids = pieces_of(word)
        if len(ids) == 1:
            exact = word == tokenizer.pieces[ids[0]]
            # The piece `us` of a lower-casing vocabulary is rather the file's `us` than its `US`, wherever they stand.
            if not is_word[ids] or (exact and not is_exact[ids]):
                vectors[ids], is_word[ids], is_exact[ids] = vector(), True, exact
        elif ids and number < COMPOSING_WORDS:
            sums[ids] += vector()
            counts[ids] += 1
    is_composed = (counts > 0) & ~is_word
    vectors[is_composed] = sums[is_composed] / counts[is_composed, None]
    return vectors, is_word, is_composed


def _word_ids(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """A function from a file's word to the ids of its pieces, each once; none if it is unknown or several words."""
    split = word_splitter(
        cased=tokenizer.cased, strip_accents=tokenizer.strip_accents, split_chinese=tokenizer.split_chinese
    )
    encode = word_encoder(tokenizer.pieces)
    ids = {piece: id for id, piece in enumerate(tokenizer.pieces)}

    def word_ids(word: str) -> list[int]:
        words = split(word)
        return sorted({ids[piece] for piece in encode(words[0])}) if len(words) == 1 else []

    return word_ids
