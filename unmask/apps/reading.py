"""Texts as a model can read them: encodings no longer than its positions, and where a longer text had to be cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.text.formats import LONGEST_ROW
from unmask.text.streams import decode, lines
from unmask.text.tokenizer import Encoding, Tokenizer

Report = Callable[[int, int], None]  # told after each batch: tokens done, tokens in all


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


def read_lines(path: Path) -> list[str]:
    """The texts of a file that has one on each line, empty ones too, so that answers can be laid beside it."""
    return [decode(path, offset, line).rstrip("\r\n") for offset, line in lines(path, longest=LONGEST_ROW)]


def _cut(encoding: Encoding) -> Reading:
    return Reading(encoding, cut=encoding.offsets[-2][1])  # the last piece is [SEP]
