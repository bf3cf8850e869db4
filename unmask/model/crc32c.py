"""CRC-32C (Castagnoli) at memory speed with numpy alone: bytes in, the 32-bit checksum out.

A checksum is the message, read as a polynomial over GF(2), modulo P. Cut into rows of `LANES` 32-bit words, it is a sum
that Horner's rule computes row by row, `total = total · x^(32·LANES) + row`, for all lanes at once; the lanes are then
folded in halves in the same way. Multiplying by a fixed power of x is linear, so two table look-ups of 16 bits do it.
"""

from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78  # bit-reversed, as all words here: the highest bit is x^0
LANES = 8192  # words to a row: 32 KB stay in the first cache, and numpy's cost for a call is spread thin
MASK_DELTA = 0xA282EAD8

Words = NDArray[np.uint32]


def crc32c(message: bytes | bytearray | memoryview) -> int:
    """The CRC-32C of some bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    view = memoryview(message).cast("B")
    if len(view) < 4:
        return _bit_by_bit(view)
    lanes = min(LANES, 1 << (len(view) // 4).bit_length() - 1)
    front_length = 4 * lanes + len(view) % (4 * lanes)
    front = np.zeros(2 * lanes, "<u4")  # a copy of the first rows; zeros in front of a message do not change it
    front_bytes = front.view(np.uint8)[8 * lanes - front_length :]
    front_bytes[:] = view[:front_length]
    front_bytes[:4] ^= 0xFF  # the register of a CRC starts as ones
    rest = np.frombuffer(view, "<u4", offset=front_length)
    return _fold(_sum_of_rows(front.reshape(2, lanes), rest.reshape(-1, lanes)))


def masked(checksum: int) -> int:
    """How LevelDB and TensorFlow store a checksum, so that a checksum over stored checksums stays good.

    >>> hex(masked(crc32c(b"foo")))
    '0xfebe8a61'
    """
    rotated = (checksum >> 15 | checksum << 17) & 0xFFFFFFFF
    return (rotated + MASK_DELTA) & 0xFFFFFFFF


def _bit_by_bit(message: memoryview) -> int:
    state = 0xFFFFFFFF
    for byte in message:
        state ^= byte
        for _ in range(8):
            state = _times_x(state)
    return state ^ 0xFFFFFFFF


def _sum_of_rows(front: Words, rest: Words) -> Words:
    """Horner's rule over the rows, every lane on its own."""
    total = np.zeros(front.shape[1], "<u4")
    low_table, high_table = _tables(32 * len(total))
    low, high = total.view("<u2")[0::2], total.view("<u2")[1::2]
    from_low, from_high = np.empty_like(total), np.empty_like(total)
    for row in chain(front, rest):
        np.take(low_table, low, out=from_low, mode="clip")
        np.take(high_table, high, out=from_high, mode="clip")
        np.bitwise_xor(from_low, from_high, out=total)
        total ^= row
    return total


def _fold(total: Words) -> int:
    """Folds the lanes in halves into one word, and takes the last step that a CRC takes."""
    while len(total) > 1:
        half = len(total) // 2
        total = _times(total[:half], 32 * half) ^ total[half:]
    return int(_times(total, 32)[0]) ^ 0xFFFFFFFF


def _times(words: Words, power: int) -> Words:
    """Each word multiplied by x^power."""
    low, high = _tables(power)
    product: Words = low[words & 0xFFFF] ^ high[words >> 16]
    return product


@lru_cache(maxsize=32)
def _tables(power: int) -> tuple[Words, Words]:
    """What x^power makes of every low and every high half of a word."""
    factor = _power_of_x(power)
    tables = np.zeros((2, 1 << 16), "<u4")
    for bit in range(32):
        half, place = divmod(bit, 16)
        tables[half, 1 << place : 2 << place] = tables[half, : 1 << place] ^ np.uint32(_product(1 << bit, factor))
    return tables[0], tables[1]


def _power_of_x(exponent: int) -> int:
    """x^exponent modulo P, by squaring."""
    result, square = 1 << 31, 1 << 30
    while exponent:
        if exponent & 1:
            result = _product(result, square)
        square, exponent = _product(square, square), exponent >> 1
    return result


def _product(left: int, right: int) -> int:
    """Two polynomials multiplied modulo P."""
    result = 0
    for bit in range(31, -1, -1):
        if left >> bit & 1:
            result ^= right
        right = _times_x(right)
    return result


def _times_x(word: int) -> int:
    return word >> 1 ^ (POLYNOMIAL if word & 1 else 0)
