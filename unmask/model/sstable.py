"""LevelDB's sorted table, the form of a TensorFlow checkpoint's index: sorted (key, value) bytes to one file and back.

A table is data blocks, an (empty) meta block, an index block that names the last key and place of each data block, and
a footer of 48 bytes. In a block a key is stored as the part that differs from the key before; every sixteenth is whole.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import takewhile

from unmask.model.crc32c import crc32c, masked
from unmask.model.protobuf import Malformed, read_varint, write_varint
from unmask.model.snappy import decompress

MAGIC = 0xDB4775248B80FB57
FOOTER_SIZE = 48
TRAILER_SIZE = 5  # one byte for the compression, four for the checksum
UNCOMPRESSED, SNAPPY = 0, 1
RESTART_EVERY = 16
BLOCK_SIZE = 1 << 18

Pair = tuple[bytes, bytes]
Handle = tuple[int, int]  # where a block starts, and its size without the trailer


def read_table(table: bytes) -> Iterator[Pair]:
    """All pairs of a table in the order of their keys; every block's checksum is verified.

    >>> list(read_table(write_table([(b"word", b"1"), (b"words", b"2")])))
    [(b'word', b'1'), (b'words', b'2')]
    """
    footer = table[-FOOTER_SIZE:]
    if len(footer) < FOOTER_SIZE or struct.unpack("<Q", footer[-8:])[0] != MAGIC:
        raise Malformed("a table without its last bytes")
    _, place = _read_handle(footer, 0)  # the meta block: nothing in it for us
    index, _ = _read_handle(footer, place)
    for _, value in _read_block(table, index):
        yield from _read_block(table, _read_handle(value, 0)[0])


def write_table(pairs: Iterable[Pair]) -> bytes:
    """One table of pairs that come sorted by key."""
    table, index = bytearray(), []
    for block in _blocks(pairs):
        index.append((block[-1][0], _write_handle(_append_block(table, block))))
    if index:
        index[-1] = (_short_successor(index[-1][0]), index[-1][1])
    meta = _write_handle(_append_block(table, []))
    handles = meta + _write_handle(_append_block(table, index))
    return bytes(table) + handles.ljust(FOOTER_SIZE - 8, b"\0") + struct.pack("<Q", MAGIC)


def _short_successor(key: bytes) -> bytes:
    """A short key that is not before the given one: as good in the index, and what LevelDB writes.

    >>> _short_successor(b"global_step")
    b'h'
    """
    place = next((place for place, byte in enumerate(key) if byte != 0xFF), None)
    return key if place is None else key[:place] + bytes([key[place] + 1])


def _read_handle(buffer: bytes, place: int) -> tuple[Handle, int]:
    start, place = read_varint(buffer, place)
    size, place = read_varint(buffer, place)
    return (start, size), place


def _write_handle(handle: Handle) -> bytes:
    return b"".join(map(write_varint, handle))


def _read_block(table: bytes, handle: Handle) -> Iterator[Pair]:
    start, size = handle
    block, trailer = table[start : start + size], table[start + size : start + size + TRAILER_SIZE]
    if len(trailer) < TRAILER_SIZE:
        raise Malformed("a table that ends before its last block")
    if masked(crc32c(block + trailer[:1])) != struct.unpack("<I", trailer[1:])[0]:
        raise Malformed("a block whose checksum does not fit")
    if trailer[0] not in (UNCOMPRESSED, SNAPPY):
        raise Malformed(f"a block of unknown compression {trailer[0]}")
    return _read_entries(decompress(block) if trailer[0] == SNAPPY else block)


def _read_entries(block: bytes) -> Iterator[Pair]:
    restarts = struct.unpack("<I", block[-4:])[0]
    end, place, key = len(block) - 4 * (restarts + 1), 0, b""
    while place < end:
        shared, place = read_varint(block, place)
        unshared, place = read_varint(block, place)
        size, place = read_varint(block, place)
        key = key[:shared] + block[place : place + unshared]
        place += unshared
        yield key, block[place : place + size]
        place += size


def _blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs in runs of about `BLOCK_SIZE` bytes."""
    block: list[Pair] = []
    size = 0
    for key, value in pairs:
        block.append((key, value))
        size += len(key) + len(value)
        if size >= BLOCK_SIZE:
            yield block
            block, size = [], 0
    if block:
        yield block


def _append_block(table: bytearray, pairs: list[Pair]) -> Handle:
    block = _write_entries(pairs)
    handle = len(table), len(block)
    kind = bytes([UNCOMPRESSED])
    table += block + kind + struct.pack("<I", masked(crc32c(block + kind)))
    return handle


def _write_entries(pairs: list[Pair]) -> bytes:
    block, restarts, before = bytearray(), [], b""
    for number, (key, value) in enumerate(pairs):
        if number % RESTART_EVERY == 0:
            restarts.append(len(block))
            before = b""
        shared = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(before, key, strict=False)))
        block += write_varint(shared) + write_varint(len(key) - shared) + write_varint(len(value))
        block += key[shared:] + value
        before = key
    restarts = restarts or [0]  # an empty block has one restart as well
    return bytes(block) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
