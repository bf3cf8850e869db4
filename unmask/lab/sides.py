"""Sides that are measured in turns, each in a process of its own: one's memory and threads are not the other's.

In: for each side what makes its works ready, and settings of its process. Out: how much of each work a side does in a
second, round by round.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection

Work = Callable[[], int]  # does it once; how much that was
Speeds = dict[str, dict[str, tuple[float, ...]]]  # work -> side -> so much a second in each round


@dataclass(frozen=True)
class Side:
    """One of those that are compared."""

    make: Callable[[], Mapping[str, Work]]  # called in its process: a function of a module, or a partial of one
    environment: Mapping[str, str] = field(default_factory=dict)  # of its process, beside what this one has


def in_turns(sides: Mapping[str, Side], works: Sequence[str], *, rounds: int) -> Speeds:
    """All rounds of one work, then those of the next; the first round of each is not counted."""
    with ExitStack() as stack:
        running = {name: stack.enter_context(_process(side)) for name, side in sides.items()}
        return {work: _rounds(running, work, rounds) for work in works}


def _rounds(running: Mapping[str, Connection], work: str, rounds: int) -> dict[str, tuple[float, ...]]:
    taken = [{name: _asked(side, work) for name, side in running.items()} for _ in range(rounds + 1)]
    return {name: tuple(one[name] for one in taken[1:]) for name in running}


def _asked(side: Connection, work: str) -> float:
    side.send(work)
    said = side.recv()
    if isinstance(said, Exception):
        raise said
    return float(said)


@contextmanager
def _process(side: Side) -> Iterator[Connection]:
    """The way to a process that works when it is asked to."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_work, args=(there, side.make), daemon=True)
    before = dict(os.environ)
    os.environ.update(side.environment)
    try:
        process.start()
    finally:
        os.environ.clear()
        os.environ.update(before)
    try:
        yield here
    finally:
        process.kill()
        process.join()


def _work(asked: Connection, make: Callable[[], Mapping[str, Work]]) -> None:
    """What a side's process does: waits for the name of a work, does it, and says how much a second it did."""
    works: Mapping[str, Work] | None = None
    while True:
        name = asked.recv()
        try:
            works = works or make()
            started = time.perf_counter()
            amount = works[name]()
            asked.send(amount / (time.perf_counter() - started))
        except Exception as error:  # told to whoever asked
            asked.send(error)
