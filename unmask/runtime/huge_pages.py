"""The memory of opened models in huge pages, so that the processor finds it faster: a tenth more texts a second.

Weights are read from end to end for every batch, 42 MB of a MiniLM in float32, and a processor remembers where a few
thousand pages lie: of 4 KB each they are fewer than it reads, of 2 MB they are not. Linux gives huge pages to those who
ask; onnxruntime does not. To move what is there takes about 2 ms a megabyte, so it is done once a model has worked for
a while, beside its work. Elsewhere than on Linux, and where the system has none to give, nothing happens.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

Spans = list[tuple[int, int]]  # addresses from, to; in order

MAPS = Path("/proc/self/maps")
PAGE = 2 << 20  # bytes of a huge page
LEAST = 2 * PAGE  # bytes that are worth asking for
PAID = 20_000  # tokens after which moving has paid for itself, whatever a model's size: cost and gain both grow with it
WANTED, NOW = 14, 25  # MADV_HUGEPAGE and MADV_COLLAPSE, from Linux's mman-common.h


class OpenedMemory:
    """What opening models has added to this process, until it lies in huge pages."""

    def __init__(self) -> None:
        self.spans: Spans = []
        self.tokens = 0  # that were computed

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Notes what is added meanwhile."""
        before = own_memory()
        yield
        self.spans += without(own_memory(), before)

    def worked(self, tokens: int) -> None:
        """So many tokens more were computed: what has worked enough is moved."""
        self.tokens += tokens
        if self.tokens >= PAID and self.spans:
            self.gather()

    def gather(self) -> Thread:
        """Moves it, beside whatever else is done."""
        spans, self.spans = self.spans, []
        moving = Thread(target=into_huge_pages, args=(spans,), daemon=True)
        moving.start()
        return moving


def into_huge_pages(spans: Spans) -> None:
    """Asks for huge pages where these addresses lie; what is no longer there, or cannot be moved, stays as it is."""
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    for start, stop in map(_whole_pages, spans):
        if advise is not None and stop - start >= LEAST:
            for advice in (WANTED, NOW):
                advise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), advice)


def own_memory() -> Spans:
    """Where this process has memory of its own that can be written: no files, no stacks."""
    try:
        lines = MAPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    parts = [line.split(maxsplit=5) for line in lines]
    own = [part[0].split("-") for part in parts if part[1] == "rw-p" and part[5:] in ([], ["[heap]"])]
    return [(int(start, 16), int(stop, 16)) for start, stop in own]


def without(spans: Spans, others: Spans) -> Spans:
    """What of the spans lies in none of the others.

    >>> without([(0, 10), (20, 30)], [(0, 4), (6, 8), (18, 30)])
    [(4, 6), (8, 10)]
    """
    found = []
    for begin, stop in spans:
        start = begin
        for low, high in others:
            if low < stop and high > start:
                found.append((start, low))
                start = high
        found.append((start, stop))
    return [(start, stop) for start, stop in found if start < stop]


def _whole_pages(span: tuple[int, int]) -> tuple[int, int]:
    """The huge pages that lie wholly in a span.

    >>> _whole_pages((PAGE - 1, 3 * PAGE + 1)) == (PAGE, 3 * PAGE)
    True
    """
    return -(-span[0] // PAGE) * PAGE, span[1] // PAGE * PAGE
