"""The wire form of protocol buffers, as TensorFlow's checkpoint index and ONNX files use it: bytes to fields, and back.

A message is a run of fields, each a key `number << 3 | kind` and its value. Kinds: 0 a varint, 1 eight bytes, 2 a
length and as many bytes (texts, messages within messages), 5 four bytes.
"""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Value = int | bytes


class Malformed(ValueError):
    """Bytes that no writer of the format could have made."""


def read_varint(buffer: bytes | memoryview, start: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and the place after it.

    >>> read_varint(bytes([0xAC, 0x02]), 0)
    (300, 2)
    """
    number = shift = 0
    for place in range(start, min(start + 10, len(buffer))):
        number |= (buffer[place] & 0x7F) << shift
        shift += 7
        if buffer[place] < 0x80:
            return number, place + 1
    raise Malformed("a number without an end")


def write_varint(number: int) -> bytes:
    """The inverse of `read_varint`.

    >>> write_varint(300).hex()
    'ac02'
    """
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(groups) + bytes([number])


def read_fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message in the order they stand: (number, value).

    >>> list(read_fields(write_field(1, 300) + write_field(2, b"word")))
    [(1, 300), (2, b'word')]
    """
    place = 0
    while place < len(message):
        key, place = read_varint(message, place)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == VARINT:
            value, place = read_varint(message, place)
        else:
            length, place = _length(message, place, kind)
            value = message[place : place + length]
            if len(value) < length:
                raise Malformed("a field that goes on after the end")
            place += length
            value = value if kind == BYTES else int.from_bytes(value, "little")
        yield number, value


def _length(message: bytes, place: int, kind: int) -> tuple[int, int]:
    if kind == BYTES:
        return read_varint(message, place)
    if kind in (FIXED32, FIXED64):
        return (4 if kind == FIXED32 else 8), place
    raise Malformed(f"a field of unknown kind {kind}")


def write_field(number: int, value: Value) -> bytes:
    """One field: a number as a varint, bytes with their length."""
    if isinstance(value, int):
        return write_varint(number << 3 | VARINT) + write_varint(value)
    return write_varint(number << 3 | BYTES) + write_varint(len(value)) + value


def write_fixed32(number: int, value: int) -> bytes:
    """One field of exactly four bytes, used for checksums.

    >>> write_fixed32(6, 1).hex()
    '3501000000'
    """
    return write_varint(number << 3 | FIXED32) + struct.pack("<I", value)
