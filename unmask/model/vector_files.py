"""Files of word vectors, as GloVe and word2vec publish them: a path comes in, words with their vectors go out.

Three forms are told apart by their first bytes: GloVe text (a word and its numbers a line), word2vec text (the same
after a line with the number of words and the width; fastText's .vec too) and word2vec binary. Files are read as a
stream, and a vector is only decoded when it is asked for: most words of a large file are not.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.text.streams import BLOCK_BYTES, open_bytes

Vector = NDArray[np.float32]
Row = tuple[str, Callable[[], Vector]]

HEADER = re.compile(rb"(\d+)[ \t]+(\d+)\s*")
LONGEST_LINE = 1 << 20
LONGEST_WORD = 1 << 12  # bytes


@dataclass(frozen=True)
class VectorFile:
    """An open file: its width, and its rows in the order of the file, which is that of the words' frequency."""

    width: int
    rows: Iterator[Row]


@contextmanager
def open_vectors(path: Path) -> Iterator[VectorFile]:
    """Opens a file of word vectors, plain or compressed.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("the 0.5 1.5\\nking -1 2\\n")
    >>> with open_vectors(path) as file:
    ...     file.width, [(word, vector().tolist()) for word, vector in file.rows]
    (2, [('the', [0.5, 1.5]), ('king', [-1.0, 2.0])])
    """
    with open_bytes(path) as stream:
        first = stream.readline(LONGEST_LINE)
        if header := HEADER.fullmatch(first):
            words, width = int(header[1]), int(header[2])
            second = stream.readline(LONGEST_LINE)
            if _is_text(second):
                yield VectorFile(width, _text_rows(path, stream, [second], width, first_line=2, words=words))
            else:
                yield VectorFile(width, _binary_rows(path, stream, second, width, words))
        elif width := _text_width(first):
            yield VectorFile(width, _text_rows(path, stream, [first], width, first_line=1, words=None))
        else:
            where = f"{path}, which begins with {first[:40]!r}"
            raise InputError(where, wanted="word vectors: GloVe text, word2vec text or word2vec binary")


def _is_text(line: bytes) -> bool:
    """Whether bytes can be a line of text; the numbers of a binary file, in four bytes each, hardly ever are."""
    try:
        return line.decode("utf-8").strip().isprintable()
    except UnicodeDecodeError:
        return False


def _text_width(line: bytes) -> int:
    """The width of the vector after the line's first word; 0 if there is none.

    >>> _text_width(b"the 0.5 1.5"), _text_width(b"the king"), _text_width(b"")
    (2, 0, 0)
    """
    try:
        return len([float(field) for field in line.split()[1:]])
    except ValueError:
        return 0


def _text_rows(
    path: Path, stream: BinaryIO, before: list[bytes], width: int, *, first_line: int, words: int | None
) -> Iterator[Row]:
    """Rows of a text file, those of the lines already read first."""
    number = first_line - 1
    for lines in (before, stream):
        for line in lines:
            number += 1
            fields = line.rstrip().rsplit(b" ", width)
            if len(fields) != width + 1 or _ends_in_number(fields[0]):
                got = f"{path}, line {number}: {max(len(line.split()) - 1, 0)} numbers"
                raise InputError(got, wanted=f"a word and {width} numbers, as in the first line")
            yield _decode(fields[0]), partial(_numbers, fields[1:], path, number)
    _check_end(path, number + 1 - first_line, words)


def _ends_in_number(word: bytes) -> bool:
    """Some published words have blanks inside, but a number after one is a vector too long."""
    try:
        return b" " in word and bool(float(word.rsplit(b" ", 1)[1]) + 1)
    except ValueError:
        return False


def _numbers(fields: list[bytes], path: Path, line: int) -> Vector:
    try:
        vector = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError as error:
        raise InputError(f"{path}, line {line}: {error}", wanted="numbers after the word") from None
    return _finite(vector, f"{path}, line {line}")


def _binary_rows(path: Path, stream: BinaryIO, before: bytes, width: int, words: int) -> Iterator[Row]:
    """Rows of a binary file: the word, a blank, the numbers in four bytes each, and in some files a line end."""
    buffer, position, size = before, 0, 4 * width
    for number in range(1, words + 1):
        if len(buffer) - position < LONGEST_WORD + size:
            buffer, position = buffer[position:] + stream.read(BLOCK_BYTES + size), 0
        blank = buffer.find(b" ", position, position + LONGEST_WORD)
        end = blank + 1 + size
        if blank < 0 or end > len(buffer):
            got = f"{path}, which ends or breaks in word {number}"
            raise InputError(got, wanted=f"{words} words of width {width}, as it says first", do="fetch it again")
        word = buffer[position:blank].lstrip(b"\n")
        yield _decode(word), partial(_floats, buffer[blank + 1 : end], path, number)
        position = end


def _floats(raw: bytes, path: Path, number: int) -> Vector:
    return _finite(np.frombuffer(raw, dtype="<f4").astype(np.float32), f"{path}, word {number}")


def _finite(vector: Vector, where: str) -> Vector:
    if not np.isfinite(vector).all():
        raise InputError(f"{where}: a value that is not a finite number", wanted="finite numbers")
    return vector


def _decode(word: bytes) -> str:
    return word.decode("utf-8", errors="replace")  # published files hold a few broken words, which match no piece


def _check_end(path: Path, found: int, words: int | None) -> None:
    if words is not None and found != words:
        raise InputError(f"{path} with {found} words", wanted=f"{words}, as its first line says", do="fetch it again")
