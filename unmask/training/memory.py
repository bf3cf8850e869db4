"""Memory that is free, and memory that a long run would otherwise never give back.

Batches without padding have another number of tokens at every step. glibc keeps freed blocks for requests of the same
size, finds few, and a run's memory grows by a megabyte or more a step. Giving free pages back now and then keeps it
flat, at no cost that can be measured; fixed thresholds (`MALLOC_TRIM_THRESHOLD_`) would do so at every allocation, and
spend a third of the time in page faults.
"""

import ctypes
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

EVERY = 20  # steps


def give_back(step: int) -> None:
    """Gives free memory back to the system at every twentieth step; allocators other than glibc's have no such call."""
    if step % EVERY == 0:
        _trim()(0)


def free_bytes() -> int:
    """How much memory programs may still ask for, as the system sees it.

    >>> free_bytes() > 1 << 20
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) * 1024
    except (OSError, StopIteration):  # no Linux: a third of what the machine has
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 3


@lru_cache(maxsize=1)
def _trim() -> Callable[[int], int]:
    library = ctypes.CDLL(None)
    return getattr(library, "malloc_trim", lambda _: 0)
