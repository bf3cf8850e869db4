"""How a vocabulary fits a text: word counts come in; unknown rate, pieces per word and what to add go out.

Words are encoded as BERT does it: the longest piece from the left, and the whole word unknown if that fails anywhere.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tokenizers import models

LONGEST_WORD = 100  # characters; the tokenizer makes longer words unknown


@dataclass(frozen=True)
class Coverage:
    """What became of the words of a text."""

    words: int
    unknown: int  # words
    pieces: int  # an unknown word is one

    @property
    def unknown_rate(self) -> float:
        """The share of words that become [UNK]."""
        return self.unknown / max(self.words, 1)

    @property
    def pieces_per_word(self) -> float:
        """The length of encoded text in words of the text: 1 if each word is a piece."""
        return self.pieces / max(self.words, 1)


@dataclass(frozen=True)
class Addition:
    """A word that would be worth a piece of its own."""

    word: str
    count: int
    pieces: int  # that it takes now
    saves: int  # pieces in the text


def measure_coverage(vocabulary: Collection[str], words: Mapping[str, int]) -> Coverage:
    """Encodes counted words and counts pieces and unknown words.

    >>> coverage = measure_coverage(["un", "##mask", "the"], {"unmask": 1, "the": 2, "mask": 1})
    >>> coverage.pieces_per_word, coverage.unknown_rate
    (1.25, 0.25)
    """
    encode = word_encoder(vocabulary)
    unknown = pieces = 0
    for word, count in words.items():
        length = len(encode(word))
        unknown += count * (length == 0)
        pieces += count * max(length, 1)
    return Coverage(sum(words.values()), unknown, pieces)


def suggest_additions(vocabulary: Collection[str], words: Mapping[str, int], *, top: int) -> list[Addition]:
    """The words that cost most pieces in this text, those first that would save most as pieces of their own.

    >>> suggest_additions(["un", "##mask", "the"], {"unmask": 3, "the": 9}, top=5)
    [Addition(word='unmask', count=3, pieces=2, saves=3)]
    """
    encode = word_encoder(vocabulary)
    found = [
        Addition(word, count, pieces, count * (pieces - 1))
        for word, count in words.items()
        if (pieces := len(encode(word))) > 1
    ]
    return sorted(found, key=lambda addition: (-addition.saves, addition.word))[:top]


def missing_characters(vocabulary: Collection[str], words: Mapping[str, int], *, top: int) -> list[tuple[str, int]]:
    """The characters without a piece that make most words unknown, as (piece to add, occurrences).

    >>> missing_characters(["a", "##b"], {"ab": 5, "b": 2, "aa": 1}, top=5)
    [('b', 2), ('##a', 1)]
    """
    encode = word_encoder(vocabulary)
    missing: Counter[str] = Counter()
    for word, count in words.items():
        if len(word) <= LONGEST_WORD and not encode(word):
            missing.update(dict.fromkeys(set(spell(word)).difference(vocabulary), count))
    return sorted(missing.items(), key=lambda item: (-item[1], item[0]))[:top]


def word_encoder(vocabulary: Collection[str]) -> Callable[[str], list[str]]:
    """The function from a word to its pieces, longest first from the left; no pieces if the word is unknown.

    >>> encode = word_encoder(["un", "##mask", "##ma", "u"])
    >>> encode("unmask"), encode("mask"), encode("[UNK]")
    (['un', '##mask'], [], [])
    """
    unknown = "\n"  # cannot be a piece of a vocabulary file
    ids = {piece: id for id, piece in enumerate([*vocabulary, unknown])}
    model = models.WordPiece(ids, unk_token=unknown, max_input_chars_per_word=LONGEST_WORD)

    def encode(word: str) -> list[str]:
        encoded = [token.value for token in model.tokenize(word)]
        return encoded if encoded != [unknown] else []

    return encode


def spell(word: str) -> list[str]:
    """A word as pieces of one character.

    >>> spell("mask")
    ['m', '##a', '##s', '##k']
    """
    return [word[0], *(f"##{character}" for character in word[1:])]
