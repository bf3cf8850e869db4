"""Texts as a model can read them: encodings no longer than its positions, and where a longer text had to be cut."""

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.text.tokenizer import Encoding, Tokenizer


@dataclass(frozen=True)
class Reading:
    """A text's pieces as far as the model reads them."""

    encoding: Encoding
    cut: int | None = None  # the character from which on nothing was read; None if all of it was


def read(tokenizer: Tokenizer, texts: Sequence[str], *, longest: int) -> list[Reading]:
    """Encodes texts and cuts those of more than `longest` pieces at their end.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> [reading.cut for reading in read(Tokenizer([*SPECIAL_PIECES, "a"]), ["a", "a a a"], longest=4)]
    [None, 3]
    """
    return [
        Reading(encoding) if len(encoding.ids) <= longest else _cut(tokenizer.encode(text, max_length=longest))
        for text, encoding in zip(texts, tokenizer.encode_batch(texts), strict=True)
    ]


def _cut(encoding: Encoding) -> Reading:
    return Reading(encoding, cut=encoding.offsets[-2][1])  # the last piece is [SEP]
