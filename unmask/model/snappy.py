"""Snappy's block format, decompression only: an index written with compression switched on is read all the same."""

from unmask.model.protobuf import Malformed, read_varint


def decompress(block: bytes) -> bytes:
    """The bytes that a snappy block stands for: literals, and copies of what was written before.

    >>> decompress(bytes([8, 4, ord("n"), ord("a"), 0x09, 2]))
    b'nananana'
    """
    length, place = read_varint(block, 0)
    written = bytearray()
    while place < len(block):
        kind, size, back, place = _element(block, place)
        if kind == "literal":
            written += block[place : place + size]
            place += size
        else:
            _copy(written, size, back)
    if len(written) != length:
        raise Malformed("a compressed block of another length than it says")
    return bytes(written)


def _element(block: bytes, place: int) -> tuple[str, int, int, int]:
    """The kind of the next element, its size, how far back a copy starts, and the place after its head."""
    tag, place = block[place], place + 1
    kind, high = tag & 3, tag >> 2
    if kind == 0:
        extra = max(high - 59, 0)  # 60 to 63: the size stands in one to four bytes of its own
        size = int.from_bytes(block[place : place + extra], "little") if extra else high
        return "literal", size + 1, 0, place + extra
    if kind == 1:
        back = (high >> 3) << 8 | int.from_bytes(block[place : place + 1], "little")
        return "copy", (high & 7) + 4, back, place + 1
    width = 2 if kind == 2 else 4
    return "copy", high + 1, int.from_bytes(block[place : place + width], "little"), place + width


def _copy(written: bytearray, size: int, back: int) -> None:
    """Repeats bytes from `back` ago; a copy may reach into what it has just written itself."""
    if not 0 < back <= len(written):
        raise Malformed("a copy from before the beginning")
    for _ in range(size):
        written.append(written[-back])
