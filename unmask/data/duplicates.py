"""Which of very many hashes are the first of their kind: lists of hashes come in, positions of the first ones go out.

Memory is bounded: hashes are looked at in passes, each of which takes those of one remainder, so that equal ones meet.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 23  # hashes in a pass: about 250 MB with the sorting


def hash_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """An 8-byte hash of each text, the same on every machine.

    >>> hash_texts(["a", "b", "a"]).tolist() == [hash_texts([text])[0] for text in "aba"]
    True
    """
    return np.frombuffer(b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts), "<u8")


def hash_groups(hashes: NDArray[np.uint64], lengths: NDArray[np.integer]) -> NDArray[np.uint64]:
    """A hash of each group of hashes that follow one another: documents from their sentences.

    >>> groups = hash_groups(np.array([1, 2, 1, 2, 3], np.uint64), np.array([2, 2, 1]))
    >>> bool(groups[0] == groups[1]), bool(groups[0] == groups[2])
    (True, False)
    """
    groups = np.split(hashes, np.cumsum(lengths)[:-1]) if len(lengths) else []
    return np.frombuffer(b"".join(blake2b(group.tobytes(), digest_size=8).digest() for group in groups), "<u8")


def first_positions(
    parts: Sequence[NDArray[np.uint64]], *, at_once: int = AT_ONCE
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """(part, positions in it) of every hash that occurs neither before in its part nor in an earlier part.

    >>> list(first_positions([np.array([7, 8, 7], np.uint64), np.array([8, 9], np.uint64)]))
    [(0, array([0, 1])), (1, array([1]))]
    """
    passes = np.uint64(sum(map(len, parts)) // at_once + 1)
    for remainder in range(int(passes)):
        chosen = [np.flatnonzero(part % passes == remainder) for part in parts]
        hashes = np.concatenate([part[positions] for part, positions in zip(parts, chosen, strict=True)])
        first = np.sort(np.unique(hashes, return_index=True)[1])
        borders = np.cumsum([0, *map(len, chosen)])
        for number, (positions, begin, end) in enumerate(zip(chosen, borders, borders[1:], strict=False)):
            here = first[np.searchsorted(first, begin) : np.searchsorted(first, end)]
            yield number, positions[here - begin]
