"""Shards prepared by the machines of a Ray cluster: plans come in, records go out as they are done.

Every machine must have this package and see the text at the same path. What it makes of a shard comes back through
Ray, and this process writes it, so the store itself needs no shared file system. A task whose machine dies is done
again elsewhere; it gives the same bytes.
"""

import json
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmask.data.shards import ARRAYS, ShardPlan, ShardPreparer, ShardRecord, array_path
from unmask.errors import InputError
from unmask.files import atomic_path, write_text
from unmask.text.documents import Lines
from unmask.text.tokenizer import Tokenizer

TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json")
WANTED = "auto, or where a Ray cluster answers, such as head:6379 or ray://head:10001"
Arrays = dict[str, bytes]


def prepare_on_ray(plans: Sequence[ShardPlan], folder: Path, *, lines: Lines, address: str) -> Iterator[ShardRecord]:
    """Prepares shards on a cluster, into a folder here that holds the tokenizer."""
    if not plans:
        return
    with _connected(address) as ray:
        tokenizer = ray.put({name: (folder / name).read_bytes() for name in TOKENIZER_FILES})
        task = ray.remote(num_cpus=1)(prepare_apart)
        waiting = [everywhere(plan) for plan in reversed(plans)]
        running: list[Any] = []
        at_once = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))  # more would fill the cluster's memory
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(task.remote(waiting.pop(), tokenizer, lines))
            [done], running = ray.wait(running)
            answer = ray.get(done)
            if isinstance(answer, dict):
                raise InputError(**answer)
            yield keep(folder, *answer)


def prepare_apart(
    plan: ShardPlan, tokenizer: dict[str, bytes], lines: Lines
) -> tuple[ShardRecord, Arrays] | dict[str, str]:
    """A shard as bytes, without leaving a file; or what is wrong with its text."""
    for path in (part.path for part in plan.parts if not part.path.exists()):
        wanted = "text that every machine of the cluster sees at the same path"
        return {"got": f"no {path} on {socket.gethostname()}", "wanted": wanted, "do": "use a shared file system"}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in tokenizer.items():
            (folder / file).write_bytes(content)
        try:
            record = ShardPreparer(folder, Tokenizer.load(folder), lines=lines).prepare(plan)
        except InputError as error:
            return {"got": error.got, "wanted": error.wanted, "do": error.do}
        return record, {kind: array_path(folder, plan.number, kind).read_bytes() for kind in ARRAYS}


def keep(folder: Path, record: ShardRecord, arrays: Arrays) -> ShardRecord:
    """Writes a shard's arrays, then its record, as if it had been prepared here."""
    for name, content in arrays.items():
        with atomic_path(array_path(folder, record.number, name)) as temporary:
            temporary.write_bytes(content)
    write_text(array_path(folder, record.number, "json"), json.dumps(asdict(record)))
    return record


def everywhere(plan: ShardPlan) -> ShardPlan:
    """The plan with paths that do not depend on the folder in which a process works."""
    return replace(plan, parts=tuple(replace(part, path=part.path.resolve()) for part in plan.parts))


def check_address(address: str) -> None:
    """Refuses an address where nobody answers: Ray itself would go on trying for many minutes.

    >>> check_address("auto")
    """
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError) as error:
        raise InputError(f"--ray {address}: {error}", wanted=WANTED) from None


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        import ray
    except ImportError:
        raise InputError(
            "--ray without Ray", wanted="the extra `ray`", do="install it: pip install 'unmask[ray]'"
        ) from None
    check_address(address)
    # one thread a task: the tasks are the parallelism
    environment = {"env_vars": {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=environment)
    except ConnectionError as error:
        raise InputError(f"--ray {address}: {str(error).splitlines()[0]}", wanted=WANTED) from None
    try:
        yield ray
    finally:
        ray.shutdown()
