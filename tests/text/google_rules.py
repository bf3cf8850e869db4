"""Google's published BERT tokenisation rules in plain Python, one character at a time: a second opinion.

Text comes in, pieces go out. Slow and obvious on purpose. The one rule that is not Google's is the first: a special
piece written in the text is that piece, as every published BERT tokenizer has it.
"""

import re
import unicodedata
from collections.abc import Container, Iterator

SPECIAL = re.compile(r"(\[PAD\]|\[UNK\]|\[CLS\]|\[SEP\]|\[MASK\])")

IDEOGRAPHS = [  # the eight blocks that the rules call Chinese characters
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
]


def pieces(text: str, vocabulary: Container[str], *, max_word_length: int = 100, **settings: bool) -> list[str]:
    """The pieces of a text: special pieces as they stand, then basic words, then the longest pieces from the left."""
    found: list[str] = []
    for part in SPECIAL.split(text):
        if SPECIAL.fullmatch(part):
            found.append(part)
        else:
            for word in words(part, **settings):
                found += word_pieces(word, vocabulary, max_word_length)
    return found


def words(
    text: str, *, cased: bool = False, strip_accents: bool | None = None, split_chinese: bool = True
) -> list[str]:
    """Basic words: cleaned, Chinese characters apart, lower-cased and without accents where asked, marks apart."""
    text = "".join(" " if is_space(c) else c for c in text if not is_removed(c))
    if split_chinese:
        text = "".join(f" {c} " if is_ideograph(c) else c for c in text)
    strip = not cased if strip_accents is None else strip_accents
    found: list[str] = []
    for word in text.split():
        word = word if cased else word.lower()
        word = without_accents(word) if strip else word
        found += " ".join(split_punctuation(word)).split()
    return found


def word_pieces(word: str, vocabulary: Container[str], max_word_length: int) -> list[str]:
    """Greedy longest match from the left; a word that cannot be covered, or is too long, is unknown as a whole."""
    if len(word) > max_word_length:
        return ["[UNK]"]
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:
            return ["[UNK]"]
        found.append(piece)
        start = end
    return found


def split_punctuation(word: str) -> Iterator[str]:
    """A word cut at its punctuation, each mark a word of its own."""
    run = ""
    for character in word:
        if is_punctuation(character):
            yield from filter(None, [run, character])
            run = ""
        else:
            run += character
    if run:
        yield run


def without_accents(word: str) -> str:
    """Canonically decomposed, without the non-spacing marks."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def is_space(character: str) -> bool:
    """A blank, tab, line end, or any space separator."""
    return character in " \t\n\r" or unicodedata.category(character) == "Zs"


def is_removed(character: str) -> bool:
    """NUL, the replacement character, and control or format characters other than tab and line ends."""
    if character in "\t\n\r":
        return False
    return character in "\0\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def is_punctuation(character: str) -> bool:
    """Any ASCII mark that is no letter, digit or blank (also ^, $ and `), and all of Unicode's punctuation."""
    return (33 <= ord(character) <= 126 and not character.isalnum()) or unicodedata.category(character).startswith("P")


def is_ideograph(character: str) -> bool:
    """A character of the CJK ideograph blocks; kana and hangul are not among them."""
    return any(first <= ord(character) <= last for first, last in IDEOGRAPHS)
