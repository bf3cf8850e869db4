"""An exported model in onnxruntime: rows in, what the head says of each out, in the rows' order, without torch.

The same outputs as `unmask.model.outputs.outputs_of` gives of the model that was exported, so that tasks decode both by
the same code. A few texts are computed by all threads together. Of many texts every thread has batches of its own: then
none waits for another, which on a busy machine halves the time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.runtime.batching import BATCH_TOKENS, batches, padded

Report = Callable[[int, int], None]  # told after each batch: tokens done, tokens in all
Floats = NDArray[np.float32]
Values = dict[str, Floats]  # of one batch: outputs of the graph by name

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MANY = 4096  # tokens from which on threads have batches of their own: opening the model once more is soon made up for
TWICE = 200_000_000  # bytes of a model that may lie in memory a second time for that
SLOWER = ["SkipLayerNormFusion", "BiasGeluFusion"]  # operators that take longer than what they replace


class Engine:
    """A graph, ready to run on this machine's processor."""

    name = "onnxruntime"

    def __init__(self, model: Path | bytes, head: str | None, *, threads: int | None = None) -> None:
        self.model, self.head, self.threads = model, head, threads or usable_cores()
        self.session = open_session(model, threads=self.threads)
        self._options = onnxruntime.RunOptions()
        self._options.only_execute_path_to_fetches = True  # a head's other outputs cost nothing

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
        return found

    def run(self, rows: Sequence[Row], fetch: Sequence[str]) -> Values:
        """Named outputs of the graph for one batch, computed by all threads together."""
        return self._run(self.session, rows, fetch)

    def _run(self, session: Any, rows: Sequence[Row], fetch: Sequence[str]) -> Values:
        given = dict(zip(INPUTS, padded(rows), strict=True))
        return dict(zip(fetch, session.run(list(fetch), given, self._options), strict=True))

    def _values(self, groups: Sequence[Sequence[Row]], fetch: Sequence[str], tokens: int) -> Iterator[Values]:
        """The outputs for each of many batches, in their order."""
        if self.threads == 1 or tokens < MANY or len(groups) < 2 * self.threads or _bytes(self.model) > TWICE:
            yield from (self.run(rows, fetch) for rows in groups)
            return
        session = self._of_one_thread
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(lambda rows: self._run(session, rows, fetch), groups)

    @cached_property
    def _of_one_thread(self) -> Any:
        """The same model, for threads that each compute a batch alone."""
        return open_session(self.model, threads=1)


def open_session(model: Path | bytes, *, threads: int | None = None) -> Any:
    """onnxruntime's session for a file or its bytes, with as many threads as this process may use.

    Waiting threads look for work all the time only where the machine is idle: elsewhere they would take it from others.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cores()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone, which come as exceptions
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if is_busy() else "1")
    try:
        return onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
    except Exception as error:  # onnxruntime's own words: an operator or opset that it does not know, a damaged file
        name, words = model if isinstance(model, Path) else "a graph", str(error).splitlines()[0]
        raise InputError(
            f"{name}, which onnxruntime {onnxruntime.__version__} cannot open ({words})",
            wanted="a model exported for this version",
            do="export it again, or with --portable",
        ) from error


def _bytes(model: Path | bytes) -> int:
    return model.stat().st_size if isinstance(model, Path) else len(model)


def usable_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_busy() -> bool:
    """Whether others keep more than half of the cores at work."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > usable_cores() / 2


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
