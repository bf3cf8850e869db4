"""Words as annotated corpora have them: `U.S.`, `Coca-Cola` and `O'Neill` are one word, `Ann's` is two.

WordPiece splits at every mark. The words that it gives come in; those that touch one another and belong together go out
as one. Chinese characters stay alone, as they do in annotated Chinese.
"""

from collections.abc import Sequence
from itertools import pairwise

from unmask.text.tokenizer import is_chinese

APOSTROPHES = frozenset("'’")
CONNECTING = frozenset("-.&@_·‐‑") | APOSTROPHES  # between letters; elsewhere they are words of their own
AFTER_APOSTROPHE = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})  # a word together with it: Ann 's

Span = tuple[int, int]


def whole_words(text: str, words: Sequence[Span]) -> tuple[Span, ...]:
    """The same words with those joined that only a mark within a word divides.

    >>> from unmask.text.word_spans import word_spans
    >>> text = "The U.S. firm's Coca-Cola."
    >>> [text[start:end] for start, end in whole_words(text, word_spans(text))]
    ['The', 'U.S.', 'firm', "'s", 'Coca-Cola', '.']
    """
    found: list[Span] = []
    for (start, end), joined in zip(words, _joined(text, words), strict=True):
        if joined:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)


def _joined(text: str, words: Sequence[Span]) -> list[bool]:
    """Of each word, whether it is one with the word before."""
    pieces = [text[start:end] for start, end in words]
    touches = [False, *(before[1] == after[0] for before, after in pairwise(words)), False]
    joined = [False] * len(words)
    for n, mark in enumerate(pieces):
        if mark not in CONNECTING or not touches[n] or not (_has_letters(pieces[n - 1]) or joined[n - 1]):
            continue
        if touches[n + 1] and _has_letters(pieces[n + 1]):
            joined[n] = mark not in APOSTROPHES or pieces[n + 1].lower() not in AFTER_APOSTROPHE
            joined[n + 1] = True
        elif mark == "." and len(pieces[n - 1]) == 1:  # an initial, or the last of several: J. and e.g.
            joined[n] = pieces[n - 1].isupper() or (joined[n - 1] and pieces[n - 2] == ".")
    return joined


def _has_letters(piece: str) -> bool:
    """Whether it is a word or number, neither a mark nor a Chinese character; a mark is always alone."""
    return (len(piece) > 1 or piece.isalnum()) and not is_chinese(piece[0])
