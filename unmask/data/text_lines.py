"""Lines of text with their numbers: a file, compressed or not, comes in; a line that is not UTF-8 is named."""

from collections.abc import Iterator
from pathlib import Path

from unmask.errors import InputError
from unmask.text.formats import LONGEST_ROW
from unmask.text.streams import line_blocks


def numbered_lines(path: Path, *, strict: bool = True) -> Iterator[tuple[int, str]]:
    """The lines of a file from 1 on, without their ends.

    Bytes that are not UTF-8 are an error; if not `strict`, lone surrogates stand for them, and who reads on can refuse
    those lines alone.

    >>> next(numbered_lines(Path(__file__)))[1][:13]
    '\"\"\"Lines of t'
    """
    number = 1
    for _, block in line_blocks(path, longest=LONGEST_ROW):
        lines = _decode(path, number, block, strict).split("\n")
        if not lines[-1]:
            lines.pop()
        yield from enumerate(lines, number)
        number += len(lines)


def _decode(path: Path, number: int, block: bytes, strict: bool) -> str:
    """A block of whole lines as text with Unix line ends."""
    try:
        text = block.decode("utf-8", errors="strict" if strict else "surrogateescape")
    except UnicodeDecodeError as error:
        number += len((block[: error.start] + b"?").splitlines()) - 1
        got = f"{path} line {number}: byte 0x{block[error.start]:02x} is not UTF-8"
        raise InputError(got, wanted="UTF-8 text throughout", do="convert it, e.g. with iconv -t UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
