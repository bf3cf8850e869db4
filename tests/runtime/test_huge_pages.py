"""Opened models move into huge pages once they have worked for a while; what they say stays the same."""

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.runtime import huge_pages
from unmask.runtime.huge_pages import PAGE, OpenedMemory, into_huge_pages, own_memory, without

ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
has_huge_pages = pytest.mark.skipif(
    not ENABLED.exists() or "[madvise]" not in ENABLED.read_text(), reason="huge pages are for all here, or for none"
)


def fresh_numbers() -> np.ndarray:
    """Eight huge pages' worth of memory that nobody had before; numpy would ask for huge pages by itself."""
    numbers = np.frombuffer(mmap(-1, 8 * PAGE, flags=MAP_PRIVATE | MAP_ANONYMOUS), dtype=np.int64)
    numbers[:] = np.arange(len(numbers))
    return numbers


def in_huge_pages(array: np.ndarray) -> int:
    """Bytes of the mapping that holds an array which lie in huge pages."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        start, _, stop = line.split()[0].partition("-")
        if stop and int(start, 16) <= array.ctypes.data < int(stop, 16):
            return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages")) * 1024
    raise AssertionError("memory that no mapping holds")


@has_huge_pages
def test_what_was_opened_moves_and_keeps_its_numbers() -> None:
    memory = OpenedMemory()
    with memory.noting():
        numbers = fresh_numbers()
    memory.gather().join()
    assert in_huge_pages(numbers) >= 6 * PAGE
    assert not memory.spans
    assert np.array_equal(numbers, np.arange(len(numbers)))


@has_huge_pages
def test_what_was_there_before_stays_where_it_is() -> None:
    numbers, memory = fresh_numbers(), OpenedMemory()
    with memory.noting():
        pass
    memory.gather().join()
    assert in_huge_pages(numbers) == 0


def test_addresses_that_are_gone_are_left_alone() -> None:
    into_huge_pages([(PAGE, 9 * PAGE)])


def test_where_the_system_does_not_say_nothing_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huge_pages, "MAPS", tmp_path / "none")
    assert own_memory() == []


lists_of_spans = st.lists(st.integers(0, 40), unique=True, max_size=8).map(
    lambda found: list(zip(sorted(found)[::2], sorted(found)[1::2], strict=False))
)


@given(spans=lists_of_spans, others=lists_of_spans)
def test_what_is_without_the_others_is_counted_address_by_address(
    spans: huge_pages.Spans, others: huge_pages.Spans
) -> None:
    def addresses(found: huge_pages.Spans) -> set[int]:
        return {place for start, stop in found for place in range(start, stop)}

    assert addresses(without(spans, others)) == addresses(spans) - addresses(others)
