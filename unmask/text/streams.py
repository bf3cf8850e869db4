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
COMPRESSED = (".gz", ".zst")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@contextmanager
def open_bytes(path: Path, *, start: int = 0, stop: int | None = None) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a file from `start` on; whatever keeps them from being read is the user's to mend.

    >>> with open_bytes(Path(__file__), start=3) as stream:
    ...     stream.read(5)
    b'Bytes'
    """
    try:
        stream = _open_at(path, start)
        try:
            yield stream
        except BaseException:
            stream.close()
            raise
        _close(path, stream, stop)
    except FileNotFoundError:
        raise InputError(f"no file {path}", wanted="an existing text file", do="check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}, a folder", wanted="a file", do="name a file in it") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _broken(path, error) from None
    except OSError as error:
        # pyarrow reports a broken zstandard stream as an OSError without a number
        raise (
            _broken(path, error)
            if error.errno is None
            else InputError(f"{path}: {error.strerror}", wanted="a readable file", do="check its permissions")
        ) from None


# The compressed stream that was left last, and where: whoever reads the parts of a large file in order goes on from
# there, instead of unpacking it from its beginning for every part.
_left: dict[tuple[Path, int, int], tuple[int, BinaryIO]] = {}


def _open_at(path: Path, start: int) -> BinaryIO:
    if path.suffix not in COMPRESSED:
        plain = path.open("rb")
        plain.seek(start)
        return plain
    identity = _identity(path)
    usable = identity in _left and _left[identity][0] <= start
    position, stream = _left.pop(identity) if usable else (0, _open_compressed(path))
    while position < start and (skipped := len(stream.read(min(start - position, BLOCK_BYTES)))):
        position += skipped
    return stream


def _close(path: Path, stream: BinaryIO, stop: int | None) -> None:
    if stop is None or path.suffix not in COMPRESSED:
        stream.close()
        return
    for _, other in _left.values():
        other.close()
    _left.clear()
    _left[_identity(path)] = (stop, stream)


def _identity(path: Path) -> tuple[Path, int, int]:
    about = path.stat()
    return path, about.st_ino, about.st_mtime_ns


def _open_compressed(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return cast(BinaryIO, pyarrow_for(path).input_stream(path, compression="zstd"))


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
    with open_bytes(path, start=start, stop=stop) as stream:
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
