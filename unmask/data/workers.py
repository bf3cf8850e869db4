"""Shards prepared by several processes of this machine: plans come in, records go out as they are done.

A worker is `python -m unmask.data.workers FOLDER LINES`: it takes plans from its standard input and answers each with a
line. (`multiprocessing` would run the caller's own script again in every process that it starts.)
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from unmask.data.shards import ShardPlan, ShardPreparer, ShardRecord
from unmask.errors import InputError
from unmask.text.documents import Lines
from unmask.text.formats import TextRange
from unmask.text.tokenizer import Tokenizer


def available_cores() -> int:
    """How many cores this process may use.

    >>> available_cores() > 0
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare_shards(plans: Sequence[ShardPlan], folder: Path, *, lines: Lines, workers: int) -> Iterator[ShardRecord]:
    """Prepares shards in a folder that holds the tokenizer; one worker is this process itself."""
    if min(workers, len(plans)) <= 1:
        yield from map(ShardPreparer(folder, Tokenizer.load(folder), lines=lines).prepare, plans)
        return
    pool = _Workers(folder, lines)
    try:
        with ThreadPoolExecutor(min(workers, len(plans))) as threads:
            futures = [threads.submit(pool.prepare, plan) for plan in plans]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                pool.stop()
    finally:
        pool.stop()


class _Workers:
    """One process for each thread that asks."""

    def __init__(self, folder: Path, lines: Lines) -> None:
        self._command = [sys.executable, "-P", "-m", "unmask.data.workers", str(folder), lines]
        self._own = threading.local()
        self._processes: list[subprocess.Popen[str]] = []

    def prepare(self, plan: ShardPlan) -> ShardRecord:
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asdict(plan), default=str) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or "{}")
        if "error" in answer:
            raise InputError(answer["error"][0], wanted=answer["error"][1], do=answer["error"][2])
        if "record" not in answer:
            raise RuntimeError(f"a worker ended with status {process.wait()} in shard {plan.number}")
        return ShardRecord(**answer["record"])

    def _process(self) -> subprocess.Popen[str]:
        if not hasattr(self._own, "process"):
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._own.process = subprocess.Popen(self._command, **pipes, text=True, env=_environment())
            self._processes.append(self._own.process)
        process: subprocess.Popen[str] = self._own.process
        return process

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        self._processes.clear()


def _environment() -> dict[str, str]:
    """This package for the workers, wherever it is, and one thread for each: the processes are the parallelism."""
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": paths, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _serve(folder: Path, lines: Lines) -> None:
    """A worker's life: a plan in, a record out."""
    plans: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(plans,), daemon=True).start()
    preparer = ShardPreparer(folder, Tokenizer.load(folder), lines=lines)
    while True:
        try:
            answer: dict[str, Any] = {"record": asdict(preparer.prepare(_read_plan(plans.get())))}
        except InputError as error:
            answer = {"error": [error.got, error.wanted, error.do]}
        print(json.dumps(answer), flush=True)


def _listen(plans: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        plans.put(line)
    os._exit(0)  # at once, in the middle of a shard too: who asked for it is gone


def _read_plan(line: str) -> ShardPlan:
    plan = json.loads(line)
    parts = tuple(TextRange(**part | {"path": Path(part["path"])}) for part in plan["parts"])
    return ShardPlan(plan["number"], parts)


if __name__ == "__main__":
    try:
        _serve(Path(sys.argv[1]), sys.argv[2])  # type: ignore[arg-type]
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(130)  # the one that started it says so
