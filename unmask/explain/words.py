"""The words that an explanation speaks of: a text in, the places of its words out, Chinese words if asked for."""

from collections.abc import Sequence
from itertools import accumulate

from unmask.text.segment import Segmenter
from unmask.text.tokenizer import is_chinese
from unmask.text.whole_words import Span, whole_words
from unmask.text.word_spans import word_spans


def explained_words(text: str, segment: Segmenter | None = None) -> tuple[Span, ...]:
    """Where each word stands: `U.S.` is one, a Chinese character is one, unless a segmenter joins it to its neighbours.

    >>> explained_words("U.S. 北京!"), explained_words("我去北京", lambda text: ["我", "去", "北京"])
    (((0, 4), (5, 6), (6, 7), (7, 8)), ((0, 1), (1, 2), (2, 4)))
    """
    spans = whole_words(text, word_spans(text))
    return spans if segment is None else _segmented(text, spans, segment)


def _segmented(text: str, spans: Sequence[Span], segment: Segmenter) -> tuple[Span, ...]:
    """The same with Chinese characters joined where the segmenter sees no border between them."""
    borders = {0, *accumulate(map(len, segment(text)))}
    found: list[Span] = []
    for start, end in spans:
        inside = found and start not in borders and is_chinese(text[start]) and is_chinese(text[start - 1])
        if inside and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)
