"""Memory that a long run would otherwise never give back.

Batches without padding have another number of tokens at every step. glibc keeps freed blocks for requests of the same
size, finds few, and a run's memory grows by a megabyte or more a step. Giving free pages back now and then keeps it
flat, at no cost that can be measured; fixed thresholds (`MALLOC_TRIM_THRESHOLD_`) would do so at every allocation, and
spend a third of the time in page faults.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache

EVERY = 20  # steps


def give_back(step: int) -> None:
    """Gives free memory back to the system at every twentieth step; allocators other than glibc's have no such call."""
    if step % EVERY == 0:
        _trim()(0)


@lru_cache(maxsize=1)
def _trim() -> Callable[[int], int]:
    library = ctypes.CDLL(None)
    return getattr(library, "malloc_trim", lambda _: 0)
