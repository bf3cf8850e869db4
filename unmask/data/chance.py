"""Chance as a pure function of a seed and counters: the same numbers on any machine, in any order, after any resume.

A seed and counters (step, row, place, purpose) come in; a generator, hashes, uniform numbers or places in a permutation
come out. `generator` is numpy's Philox for a handful of draws a step. `hashed` is a chain of splitmix64 steps (Steele,
Lea and Flood 2014) over whole arrays, for a number per row or token that does not depend on who else is in the batch.
"""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Counter = int | NDArray[np.integer]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def generator(seed: int, *counters: int) -> np.random.Generator:
    """A generator of its own for each seed and up to four counters; missing counters are 0.

    Each gets its own 2^64 blocks of one Philox sequence (counters) or its own sequence (seed), so none overlap.

    >>> generator(0, 7).integers(1000, size=3)
    array([811, 584,  44])
    """
    assert len(counters) <= 4, "the first word of Philox's counter is for the draws themselves"
    first, *others = [*counters, 0, 0, 0, 0][:4]
    key, counter = np.array([seed, first], dtype=np.uint64), np.array([0, *others], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def hashed(*counters: Counter) -> Hashes:
    """A well mixed 64-bit number for each combination of counters; arrays broadcast.

    >>> hashed(0, np.arange(2))
    array([13484612269568275237, 10811063234502371043], dtype=uint64)
    """
    state: Hashes = np.zeros(1, dtype=np.uint64)
    for counter in counters:
        state = _mix(state * FIRST + np.asarray(counter).astype(np.uint64) + GOLDEN)
    return state


def uniform(*counters: Counter) -> NDArray[np.float64]:
    """A number in [0, 1) for each combination of counters.

    >>> uniform(0, np.arange(2)).round(3)
    array([0.731, 0.586])
    """
    return (hashed(*counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permuted(places: NDArray[np.integer], size: int, key: Counter) -> NDArray[np.int64]:
    """Where a shuffle of 0 … size-1 puts each place, without the shuffle: a Feistel network (Luby and Rackoff 1988).

    >>> permuted(np.arange(6), 6, key=1)
    array([4, 0, 2, 1, 5, 3])
    """
    half = np.uint64(max(1, (size.bit_length() + 1) // 2))
    keys = np.broadcast_to(hashed(key), np.shape(places))
    result = _feistel(np.asarray(places).astype(np.uint64), keys, half)
    while (outside := result >= size).any():  # the network permutes up to 4 × size places: walk on until inside
        result[outside] = _feistel(result[outside], keys[outside], half)
    return result.astype(np.int64)


def _feistel(values: Hashes, keys: Hashes, half: np.uint64) -> Hashes:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for turn in range(4):
        left, right = right, left ^ (hashed(keys, turn, right) & mask)
    return (left << half) | right


def _mix(state: Hashes) -> Hashes:
    """The output function of splitmix64."""
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    return state ^ (state >> np.uint64(31))
