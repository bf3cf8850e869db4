"""How fast a folder answers, measured in a process of its own: engines in one process would disturb each other.

`time_folder` starts the process, `python -m unmask.compress.timing FOLDER`, hands it examples and reads its figures.
From there to the first answer is the cold start.
"""

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import InputError

SINGLE = 64  # texts asked one at a time


@dataclass(frozen=True)
class Timed:
    """The figures of one process."""

    cold_start: float  # seconds from the start of the process to the first answer
    singles: tuple[float, ...]  # seconds of each text asked alone
    rate: float  # texts a second, asked together
    engine: str


def time_folder(folder: Path | str, examples: Sequence[Any]) -> Timed:
    """The figures of a folder on examples of its task."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", __spec__.name, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(pickle.dumps(list(examples)))
        process.stdin.close()
        process.stdout.readline()
        cold_start = time.perf_counter() - started
        told = process.stdout.read()
        complaint = process.stderr.read().decode(errors="replace")
    if process.returncode:
        raise InputError(f"{folder}, which does not answer: {(complaint.splitlines() or ['no reason given'])[-1]}")
    return Timed(cold_start, **json.loads(told))


def answer_all(folder: str, examples: Sequence[Any]) -> None:
    """Answers the first example, then some one at a time, then all together; says so on stdout."""
    from unmask.compress.variant import open_variant

    variant = open_variant(folder)
    variant.answers(examples[:1])
    print("ready", flush=True)
    singles = [_seconds(lambda one=one: variant.answers([one])) for one in examples[:SINGLE]]
    variant.answers(examples)
    rate = len(examples) / _seconds(lambda: variant.answers(examples))
    print(json.dumps({"singles": singles, "rate": rate, "engine": variant.engine}))


def _seconds(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    answer_all(sys.argv[1], pickle.load(sys.stdin.buffer))
