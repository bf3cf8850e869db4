"""Bytes of text files as a stream: a file, compressed or not, comes in; whole lines in blocks, with offsets, go out.

Offsets count the bytes of the uncompressed text. Memory is bounded by the longest line allowed, never by the file.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from unmask.errors import InputError

BLOCK_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a file; whatever keeps them from being read is the user's to mend.

    >>> with open_bytes(Path(__file__)) as stream:
    ...     stream.read(9)
    b'\"\"\"Bytes '
    """
    try:
        with _open_compressed(path) as stream:
            yield stream
    except FileNotFoundError:
        raise InputError(f"no file {path}", wanted="an existing text file", do="check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _broken(path, error) from None
    except OSError as error:
        # pyarrow reports a broken zstandard stream as an OSError without a number
        raise (
            _broken(path, error)
            if error.errno is None
            else InputError(f"{path}: {error.strerror}", wanted="a readable file", do="check its permissions")
        ) from None


def _open_compressed(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast(BinaryIO, pyarrow_for(path).input_stream(path, compression="zstd"))
    return path.open("rb")


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: {error}", wanted="a whole compressed file", do="fetch or compress it again")


def pyarrow_for(path: Path) -> Any:
    """The pyarrow package, which the base install does not have, to read `path`."""
    try:
        import pyarrow
    except ImportError:
        do = "install it with: pip install 'unmask[train]'"
        raise InputError(f"{path} without pyarrow", wanted="pyarrow to read it", do=do) from None
    return pyarrow


def line_blocks(
    path: Path, *, start: int = 0, stop: int | None = None, longest: int = 4 * BLOCK_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines with their offsets, about a megabyte each; a line longer than `longest` bytes is cut.

    >>> [(offset, len(block)) for offset, block in line_blocks(Path(__file__), stop=100)]
    [(0, 100)]
    """
    with open_bytes(path) as stream:
        _skip(stream, start)
        offset, rest = start, b""
        while chunk := stream.read(BLOCK_BYTES if stop is None else min(BLOCK_BYTES, stop - offset - len(rest))):
            if offset == 0 and not rest and chunk.startswith(BYTE_ORDER_MARK):
                offset, chunk = len(BYTE_ORDER_MARK), chunk[len(BYTE_ORDER_MARK) :]
            rest += chunk
            cut = _last_border(rest, longest)
            if cut:
                yield offset, rest[:cut]
            offset, rest = offset + cut, rest[cut:]
        if rest:
            yield offset, rest


def _skip(stream: BinaryIO, start: int) -> None:
    if stream.seekable():
        stream.seek(start)
        return
    while start and (skipped := len(stream.read(min(start, BLOCK_BYTES)))):
        start -= skipped


def _last_border(block: bytes, longest: int) -> int:
    """Where to cut a block: behind its last line end; else, once it is too long, behind a space or a character."""
    cut = block.rfind(b"\n") + 1
    if cut or len(block) < longest:
        return cut
    return block.rfind(b" ") + 1 or _character_border(block)


def _character_border(block: bytes) -> int:
    """The end of the block, or before its last UTF-8 character if that may be cut."""
    for back in range(1, 4):
        if block[-back] >= 0xC0:
            return len(block) - back
        if block[-back] < 0x80:
            break
    return len(block)


def lines(path: Path, *, start: int = 0, stop: int | None = None, longest: int) -> Iterator[tuple[int, bytes]]:
    """Single lines, with their ends, and their offsets.

    >>> offset, line = next(lines(Path(__file__), longest=1000))
    >>> offset, line[:9]
    (0, b'\"\"\"Bytes ')
    """
    for offset, block in line_blocks(path, start=start, stop=stop, longest=longest):
        for line in block.splitlines(keepends=True):
            yield offset, line
            offset += len(line)


def decode(path: Path, offset: int, block: bytes) -> str:
    """The block as text, or the file and byte at which it is not UTF-8.

    >>> decode(Path("poem.txt"), 0, "雪".encode())
    '雪'
    """
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        position = offset + error.start
        wrong = f"{path}: byte {position} (0x{block[error.start]:02x}) is not UTF-8"
        raise InputError(wrong, wanted="UTF-8 text", do="convert it, e.g. with iconv -t UTF-8") from None
