"""An exported model in onnxruntime: rows in, what the head says of each out, in the rows' order, without torch.

The same outputs as `unmask.model.outputs.outputs_of` gives of the model that was exported, so that tasks decode both by
the same code. One text or a few together are computed by all threads; a short one where the model is small by two, and
by one on a busy machine, where threads sleep while they have no work: to wake others takes longer than they save. Of
many texts every thread has batches of its own: then none waits for another, which on a busy machine halves the time.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.runtime.batching import BATCH_TOKENS, batches, padded
from unmask.runtime.huge_pages import OpenedMemory
from unmask.runtime.lean_graph import without_output

Report = Callable[[int, int], None]  # told after each batch: tokens done, tokens in all
Floats = NDArray[np.float32]
Values = dict[str, Floats]  # of one batch: outputs of the graph by name

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MANY = 4096  # tokens from which on threads have batches of their own: opening the model once more is soon made up for
TWICE = 200_000_000  # bytes of a model that may lie in memory a second time, for one thread and for all of them
FEW = 850_000_000  # bytes of a model times tokens up to which a text is short: one thread takes about 2 ms
SHORT = 32  # tokens; a model of which one thread cannot compute so many by that is always computed by all threads
AWAKE = 2  # threads for a short text where they need not be woken: in int8 three quarters of one thread's time
LOOKING = "1000"  # microseconds for which a thread without work looks for more: longer than from one text to the next
LOOKS = 3  # at what others do, a millisecond apart
LOAD = Path("/proc/loadavg")  # where Linux says how many threads run
COSTLY = dict.fromkeys(("pretraining", "masked_words"), "logits")  # head: an output that few ask for, (B, S, V)
SLOWER = ["SkipLayerNormFusion", "BiasGeluFusion"]  # operators that take longer than what they replace


class Engine:
    """A graph, ready to run on this machine's processor."""

    name = "onnxruntime"

    def __init__(self, model: Path | bytes, head: str | None, *, threads: int | None = None) -> None:
        self.model, self.head, self.threads = model, head, threads or usable_cores()
        self._file = _file_of(model)
        self._busy = is_busy()
        few = FEW // max(self._file.bytes, 1)
        self._few = few if few >= SHORT else 0  # tokens of a short text
        self._sessions: dict[tuple[int, str], Any] = {}  # by threads and by the output that is left out
        self._memory = OpenedMemory()  # of the sessions
        self._session(self._threads_for(SHORT), ())  # others are opened when they are needed

    def outputs(
        self, rows: Sequence[Row], *, tokens: int = BATCH_TOKENS, report: Report = lambda *_: None
    ) -> list[Floats]:
        """What the head says of each row: a vector, or where it reads tokens, a vector for each of them."""
        found: list[Floats] = [np.empty(0, np.float32)] * len(rows)
        done, total = 0, sum(len(row.ids) for row in rows)
        fetch, part = READINGS[self.head]
        cuts = list(batches([len(row.ids) for row in rows], tokens=tokens))
        groups = [[rows[place] for place in which] for which in cuts]
        for which, group, values in zip(cuts, groups, self._values(groups, fetch, total), strict=True):
            for number, (place, row) in enumerate(zip(which, group, strict=True)):
                found[place] = part(values, number, len(row.ids))
                done += len(row.ids)
            report(done, total)
        self._memory.worked(total)
        return found

    def run(self, rows: Sequence[Row], fetch: Sequence[str]) -> Values:
        """Named outputs of the graph for one batch."""
        tokens = len(rows) * max(len(row.ids) for row in rows)
        return _run(self._session(self._threads_for(tokens), fetch), rows, fetch)

    def _values(self, groups: Sequence[Sequence[Row]], fetch: Sequence[str], tokens: int) -> Iterator[Values]:
        """The outputs for each of many batches, in their order."""
        if self.threads == 1 or tokens < MANY or len(groups) < 2 * self.threads or self._file.bytes > TWICE:
            yield from (self.run(rows, fetch) for rows in groups)
            return
        session = self._session(1, fetch)
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(lambda rows: _run(session, rows, fetch), groups)

    def _threads_for(self, tokens: int) -> int:
        """How many threads compute a batch together."""
        if tokens > self._few:
            return self.threads
        return 1 if self._busy else min(AWAKE, self.threads)

    def _session(self, threads: int, fetch: Sequence[str]) -> Any:
        """The model for so many threads; where its file is no longer there or another, as it was opened before."""
        costly = COSTLY.get(self.head or "", "")
        without = "" if costly in fetch else costly
        if (threads, without) not in self._sessions:
            if self._sessions and _file_of(self.model) != self._file:
                return self._opened_before(without)
            with self._memory.noting():
                self._sessions[threads, without] = open_session(
                    self.model, threads=threads, without=without, busy=self._busy
                )
        return self._sessions[threads, without]

    def _opened_before(self, without: str) -> Any:
        for (_, left_out), session in self._sessions.items():
            if left_out in ("", without):
                return session
        raise InputError(
            "a model whose file is no longer the one that was opened", wanted="the same", do="open it again"
        )


def open_session(
    model: Path | bytes, *, threads: int | None = None, without: str = "", busy: bool | None = None
) -> Any:
    """onnxruntime's session for a file or its bytes, with as many threads as this process may use.

    An output may be left out: it would be computed every time, whether it is asked for or not.

    Where the machine is idle, threads without work look for more before they sleep, as to wake them takes longer than
    many an operator; elsewhere they would take time from others. Memory is not planned for every length that comes:
    that took a tenth of a short text's time.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cores()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone, which come as exceptions
    options.enable_mem_pattern = False
    busy = is_busy() if busy is None else busy
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if busy else "1")
    options.add_session_config_entry("session.intra_op.spin_duration_us", LOOKING)
    try:
        content = without_output(model, without) if without else model
        return onnxruntime.InferenceSession(
            content, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
    except Exception as error:  # onnxruntime's own words: an operator or opset that it does not know, a damaged file
        name, words = model if isinstance(model, Path) else "a graph", str(error).splitlines()[0]
        raise InputError(
            f"{name}, which onnxruntime {onnxruntime.__version__} cannot open ({words})",
            wanted="a model exported for this version",
            do="export it again, or with --portable",
        ) from error


def _run(session: Any, rows: Sequence[Row], fetch: Sequence[str]) -> Values:
    given = dict(zip(INPUTS, padded(rows), strict=True))
    return dict(zip(fetch, session.run(list(fetch), given), strict=True))


@dataclass(frozen=True)
class _File:
    """By what a file is known again."""

    bytes: int
    changed: int = 0  # nanoseconds
    number: int = 0


def _file_of(model: Path | bytes) -> _File:
    if isinstance(model, bytes):
        return _File(len(model))
    try:
        found = model.stat()
    except OSError:  # opening it says what is wrong
        return _File(0)
    return _File(found.st_size, found.st_mtime_ns, found.st_ino)


def usable_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_busy() -> bool:
    """Whether others keep more than half of the cores at work just now."""
    return min(_running_others() for _ in range(LOOKS)) > usable_cores() / 2


def _running_others() -> float:
    """How many threads run beside this one; where the system does not say, how many did in the last minute.

    The mean of a minute is only the second choice, as what this process did itself, such as an export, is part of it.
    """
    time.sleep(0.001)
    try:
        return int(LOAD.read_text().split()[3].split("/")[0]) - 1
    except (OSError, IndexError, ValueError):
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0


def _vector(values: Values, number: int, length: int) -> Floats:
    del length
    found: Floats = next(iter(values.values()))[number]
    return found


def _each_token(values: Values, number: int, length: int) -> Floats:
    return next(iter(values.values()))[number, :length]


def _each_token_in_a_chain(values: Values, number: int, length: int) -> Floats:
    return np.concatenate([_each_token(values, number, length), values["transitions"]])


def _both_ends(values: Values, number: int, length: int) -> Floats:
    return np.stack([values[name][number, :length] for name in ("start_logits", "end_logits")], axis=-1)


# head: the outputs of the graph that are asked for, and what is one row's part of them
READINGS: dict[str | None, tuple[tuple[str, ...], Callable[[Values, int, int], Floats]]] = {
    None: (("last_hidden_state",), _each_token),
    "pretraining": (("logits",), _each_token),
    "masked_words": (("logits",), _each_token),
    "next_sentence": (("logits",), _vector),
    "classes": (("logits",), _vector),
    "regression": (("logits",), _vector),
    "choice": (("logits",), _vector),
    "tokens": (("logits",), _each_token),
    "tags_crf": (("logits", "transitions"), _each_token_in_a_chain),
    "span": (("start_logits", "end_logits"), _both_ends),
    "embedding": (("pooled_tokens",), _vector),
}
