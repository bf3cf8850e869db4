"""A text -> passages short enough to be found and read: whole sentences, whole paragraphs where they fit.

Every passage is a slice of the text. One that begins inside a paragraph repeats the end of the one before, so that
what two sentences say together is said whole somewhere.
"""

import re
from collections.abc import Iterator

from unmask.text.documents import is_wrapped
from unmask.text.sentences import CHINESE, sentence_spans

LONGEST = 900  # in Latin characters, some 200 pieces: what embedding models read well
OVERLAP = 200  # that the next passage repeats, at most
CHINESE_WEIGHT = 3  # Latin characters that take as many pieces as one Chinese character
NEARBY = 4 * LONGEST  # characters around an answer within which its sentence is looked for
HAN = re.compile(f"[{CHINESE}]")
LINE = re.compile(r"[^\n]+")

Span = tuple[int, int]


def passage_spans(text: str) -> list[Span]:
    """The passages of a text as (start, stop) slices, in order; together they hold all that is not space.

    >>> passage_spans("Tea\\n\\nBoil water. Wait.\\n")
    [(0, 22)]
    """
    passages: list[Span] = []
    filling: list[Span] = []  # sentences of the passage that is being filled
    for paragraph in _paragraphs(text):
        for number, sentence in enumerate(paragraph):
            if filling and _size(text, filling[0][0], sentence[1]) > LONGEST:
                passages.append((filling[0][0], filling[-1][1]))
                filling = _repeated(text, filling, sentence) if number else []
            filling.append(sentence)
        if filling and _size(text, filling[0][0], filling[-1][1]) > LONGEST // 2:
            passages.append((filling[0][0], filling[-1][1]))
            filling = []
    return [*passages, (filling[0][0], filling[-1][1])] if filling else passages


def sentence_around(text: str, start: int, end: int) -> str:
    """The sentence, or the few, that a slice of a text stands in.

    >>> sentence_around("It rained. Ann sang. He slept.", 11, 14)
    'Ann sang.'
    """
    first = max(0, start - NEARBY)
    near, start, end = text[first : end + NEARBY], start - first, end - first
    spans = [span for paragraph in _paragraphs(near) for span in paragraph if span[0] < end and start < span[1]]
    return near[min(start, spans[0][0]) : max(end, spans[-1][1])] if spans else near[start:end]


def _paragraphs(text: str) -> Iterator[list[Span]]:
    """The sentences of each paragraph: lines between blank ones, joined if they were wrapped, else each for itself."""
    for lines in _blocks(text):
        rows = [text[start:stop] for start, stop in lines]
        parts = [(lines[0][0], lines[-1][1])] if is_wrapped(rows) else lines
        sentences = [
            piece
            for first, last in parts
            for start, stop in sentence_spans(text[first:last])
            for piece in _pieces(text, first + start, first + stop)
        ]
        if sentences:
            yield sentences


def _blocks(text: str) -> Iterator[list[Span]]:
    """Lines with no blank line between them."""
    lines: list[Span] = []
    for line in LINE.finditer(text):
        blank = line[0].isspace()
        if lines and (blank or line.start() > lines[-1][1] + 1):
            yield lines
            lines = []
        if not blank:
            lines.append(line.span())
    if lines:
        yield lines


def _pieces(text: str, start: int, stop: int) -> Iterator[Span]:
    """A sentence, cut at spaces if it alone is longer than a passage may be."""
    if _size(text, start, stop) <= LONGEST:
        yield start, stop
        return
    while stop - start > OVERLAP // CHINESE_WEIGHT:
        cut = text.rfind(" ", start + 1, start + OVERLAP // CHINESE_WEIGHT) + 1 or start + OVERLAP // CHINESE_WEIGHT
        yield start, cut
        start = cut
    yield start, stop


def _repeated(text: str, sentences: list[Span], following: Span) -> list[Span]:
    """The last sentences that a passage which goes on with another one may begin with."""
    for place in range(len(sentences)):
        start, stop = sentences[place][0], sentences[-1][1]
        if _size(text, start, stop) <= OVERLAP and _size(text, start, following[1]) <= LONGEST:
            return sentences[place:]
    return []


def _size(text: str, start: int, stop: int) -> int:
    """The length of a slice, in Latin characters."""
    part = text[start:stop]
    return len(part) if part.isascii() else len(part) + (CHINESE_WEIGHT - 1) * len(HAN.findall(part))
