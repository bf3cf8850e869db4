"""A store in memory, for tests: made-up documents of made-up sentences in which every token says where it stands."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

ORDINARY = 4000
TOKENIZER = Tokenizer([*SPECIAL_PIECES, *(f"{'##' if i % 3 == 2 else ''}w{i}" for i in range(ORDINARY))])


@dataclass(frozen=True)
class MemoryText:
    """The fields of a store over arrays."""

    document_sentences: NDArray[np.int64]
    sentence_tokens: NDArray[np.int64]
    ids: NDArray[np.uint16]

    def tokens(self, start: int, stop: int) -> NDArray[np.unsignedinteger]:
        """As a store has it."""
        return self.ids[start:stop]

    def document_of(self, token: NDArray[np.integer]) -> NDArray[np.int64]:
        """The document in which a token stands."""
        sentence = np.searchsorted(self.sentence_tokens, token, side="right") - 1
        return np.searchsorted(self.document_sentences, sentence, side="right") - 1


def make_text(documents: list[list[int]]) -> MemoryText:
    """Documents given as the lengths of their sentences; token i has the (i mod 4000)th ordinary id.

    >>> make_text([[2, 3], [1]]).sentence_tokens
    array([0, 2, 5, 6])
    """
    lengths = [length for document in documents for length in document]
    sentence_tokens = np.cumsum([0, *lengths])
    ids = np.arange(sentence_tokens[-1]) % ORDINARY + len(SPECIAL_PIECES)
    return MemoryText(np.cumsum([0, *map(len, documents)]), sentence_tokens, ids.astype(np.uint16))


def random_text(documents: int, *, seed: int = 0, longest: int = 60, most: int = 12) -> MemoryText:
    """Documents of 1 to `most` sentences of 1 to `longest` tokens."""
    chance = np.random.default_rng(seed)
    return make_text([chance.integers(1, longest + 1, chance.integers(1, most + 1)).tolist() for _ in range(documents)])
