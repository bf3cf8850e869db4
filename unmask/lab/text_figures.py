"""Raw text in figures: files come in; how much there is, in which scripts, how long, how often the same, what is odd.

Everything streams. Memory is bounded: lengths are counted, and only the first sentences are compared with one another.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from unmask.data.duplicates import first_positions, hash_texts
from unmask.errors import InputError
from unmask.text.documents import SENTENCE_OVER, find_files, is_wrapped, sentences_of
from unmask.text.formats import TextRange, read_range

MOST_HASHES = 1 << 24  # sentences that are compared with one another: 128 MB
LONGEST_COUNTED = 10_000  # longer sentences are counted as of this length

# first and last character of each kind
KINDS: dict[str, list[tuple[int, int]]] = {
    "Latin": [(0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0x24F), (0x1E00, 0x1EFF)],
    "Han": [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)],
    "Kana": [(0x3041, 0x30FF), (0x31F0, 0x31FF)],
    "Hangul": [(0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)],
    "Cyrillic": [(0x400, 0x52F)],
    "Greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "Arabic": [(0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF)],
    "Hebrew": [(0x590, 0x5FF)],
    "Devanagari": [(0x900, 0x97F)],
    "Thai": [(0xE00, 0xE7F)],
    "control": [(0x0, 0x8), (0xB, 0xC), (0xE, 0x1F), (0x7F, 0x9F)],  # not tab and line ends
    "private": [(0xE000, 0xF8FF), (0xF0000, 0x10FFFF)],
    "replacement": [(0xFFFD, 0xFFFD)],
}
ODD = ("control", "private", "replacement")
_RANGES = sorted((first, last, number) for number, ranges in enumerate(KINDS.values()) for first, last in ranges)
_STARTS, _STOPS = (np.array([row[column] for row in _RANGES], dtype=np.uint32) for column in (0, 1))
_NUMBERS = np.array([row[2] for row in _RANGES])

# UTF-8 that was read as Windows-1252 or Latin-1 and saved again: é becomes Ã©, ’ becomes â€™
MISREAD = re.compile("Ã[\u0080-\u00bf]|Â[\u00a0-\u00bf]|â€|â\u0080|ï»¿")
MARKUP = re.compile(
    r"</?[A-Za-z][^<>]{0,200}>|&(?:[a-z]{2,8}|#\d{1,6});|\[\[|\]\]|\{\{|\}\}|^\s*(?:==+|\{\||\|[-}]|#{1,6} )"
)


@dataclass
class TextFigures:
    """What was counted in files of text."""

    files: int = 0
    documents: int = 0
    short_documents: int = 0  # of one sentence
    sentences: int = 0
    characters: int = 0
    bytes: int = 0  # in UTF-8
    compared: int = 0  # sentences that duplicates were looked for among
    duplicates: int = 0  # of these, that occurred before
    lines: int = 0
    markup_lines: int = 0
    breaks: int = 0  # between two lines of documents that are not taken for wrapped
    broken: int = 0  # of these, within a sentence
    wrapped_documents: int = 0  # whose lines are joined when they are read
    kinds: Counter[str] = field(default_factory=Counter)  # letters of each script, and odd characters
    sentence_lengths: Counter[int] = field(default_factory=Counter)  # in characters
    document_lengths: Counter[int] = field(default_factory=Counter)  # in sentences
    unreadable: dict[str, str] = field(default_factory=dict)  # file: why it, or the rest of it, could not be read
    misread: dict[str, int] = field(default_factory=dict)  # file: characters read in a wrong encoding

    @property
    def scripts(self) -> dict[str, float]:
        """The share of each script among the letters, the largest first."""
        letters = {kind: count for kind, count in self.kinds.items() if kind not in ODD and count}
        total = sum(letters.values())
        return {kind: letters[kind] / total for kind in sorted(letters, key=letters.__getitem__, reverse=True)}


def measure_text(
    paths: Sequence[Path], *, column: str | None = None, on_progress: Callable[[int], None] = lambda _: None
) -> TextFigures:
    """Reads all files once; a file that cannot be read is named, and the others go on.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.txt"
    >>> _ = path.write_text("A cat. A dog.\\n\\nA cat.\\n")
    >>> figures = measure_text([path])
    >>> figures.documents, figures.sentences, figures.duplicates, figures.scripts
    (2, 3, 1, {'Latin': 1.0})
    """
    figures, hashes = TextFigures(), bytearray()
    for path in find_files(paths):
        figures.files += 1
        try:
            for text in read_range(TextRange(path, column=column or "text")):
                _count(figures, text.text, path.name, hashes)
                on_progress(figures.bytes)
        except InputError as error:
            figures.unreadable[path.name] = error.got
    compared = np.frombuffer(hashes, "<u8")
    figures.compared = len(compared)
    figures.duplicates = len(compared) - sum(len(positions) for _, positions in first_positions([compared]))
    return figures


def _count(figures: TextFigures, text: str, name: str, hashes: bytearray) -> None:
    """Adds a document's figures, and the hashes of its sentences as long as there is room for them."""
    sentences = sentences_of(text)
    figures.characters += len(text)
    figures.bytes += len(text.encode())
    figures.kinds.update(count_kinds(text))
    if misread := len(MISREAD.findall(text)):
        figures.misread[name] = figures.misread.get(name, 0) + misread
    if not sentences:
        return
    figures.documents += 1
    figures.short_documents += len(sentences) == 1
    figures.sentences += len(sentences)
    figures.document_lengths[len(sentences)] += 1
    figures.sentence_lengths.update(min(len(sentence), LONGEST_COUNTED) for sentence in sentences)
    _count_lines(figures, [row for row in text.split("\n") if row.strip()])
    if figures.sentences <= MOST_HASHES:
        hashes += hash_texts(sentences).tobytes()


def _count_lines(figures: TextFigures, rows: list[str]) -> None:
    figures.lines += len(rows)
    figures.markup_lines += sum(MARKUP.search(row) is not None for row in rows)
    if is_wrapped(rows):
        figures.wrapped_documents += 1
        return
    figures.breaks += len(rows) - 1
    figures.broken += sum(
        following.lstrip()[0].islower() and not SENTENCE_OVER.search(row) for row, following in pairwise(rows)
    )


def count_kinds(text: str) -> dict[str, int]:
    """How many letters of each script, and how many odd characters, a text has.

    >>> count_kinds("Ah, 天气!\\x00")
    {'Latin': 2, 'Han': 2, 'control': 1}
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    places = np.searchsorted(_STARTS, codes, side="right") - 1
    inside = (places >= 0) & (codes <= _STOPS[places])
    counts = np.bincount(_NUMBERS[places[inside]], minlength=len(KINDS))
    return {kind: int(count) for kind, count in zip(KINDS, counts, strict=True) if count}


def quantile(counts: Counter[int], share: float) -> int:
    """The value below or at which a share of counted values lies.

    >>> quantile(Counter({10: 9, 99: 1}), 0.5), quantile(Counter({10: 9, 99: 1}), 0.95)
    (10, 99)
    """
    values = sorted(counts)
    running = np.cumsum([counts[value] for value in values])
    return values[int(np.searchsorted(running, share * running[-1]))] if values else 0
