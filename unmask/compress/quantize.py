"""A model folder as an int8 serving folder, a quarter of the size: matrices by column, embeddings by row.

Inputs of linear layers are rounded by the range of each call (dynamic), or by ranges that were found on the user's data
and are fixed (calibrated): then a text's answer does not depend on what else is in its batch. Where labelled examples
are given, the score is measured before and after; layers that rounding hurts most stay in float32 until the loss is
small, and a model that still loses too much is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from unmask.compress.export import QUANTIZED, sample_rows, write_serving
from unmask.compress.onnx_bert import TABLES, bert_graph, numbers_of
from unmask.compress.precision import InputRange, Precision
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.model.folder import ModelFolder
from unmask.runtime.batching import batches, padded
from unmask.runtime.engine import Engine
from unmask.tasks.kinds import task_of
from unmask.tasks.task import Task

Numbers = NDArray[np.float32]

MOST_LOST = 0.005  # half a point of the score
CALIBRATION_TOKENS = 4096  # that ranges are found on
KEPT_SHARES = (0, 1 / 12, 1 / 6, 1 / 3, 1 / 2)  # of the linear layers, left in float32 one after another
CLIPS = (1.0, 0.8, 0.6, 0.4)  # shares of the whole range that are tried


@dataclass(frozen=True)
class Quantized:
    """What became of a model in int8."""

    folder: Path
    bytes_before: int  # of the float32 serving folder
    bytes_after: int
    max_difference: float  # between its outputs and torch's
    kept: tuple[str, ...]  # linear layers that stay in float32
    metric: str | None = None
    score_before: float | None = None
    score_after: float | None = None


@dataclass(frozen=True)
class Seen:
    """What was seen of a linear layer on calibration rows."""

    range: InputRange  # of its inputs, where rounding loses least
    error: float  # share of its output's square that rounding changes


@dataclass(frozen=True)
class Judge:
    """Labelled examples of a task, by which engines are scored."""

    task: Task
    examples: Sequence[Any]
    rows: Sequence[Row]

    @classmethod
    def of(cls, opened: ModelFolder, examples: Sequence[Any]) -> "Judge":
        """A judge for a model's own task."""
        task = task_of(opened.about, opened.config.positions)
        return cls(task, examples, task.rows(examples, opened.tokenizer))

    def score(self, engine: Engine) -> float:
        """The score that counts."""
        answers = self.task.answers(self.examples, self.rows, engine.outputs(self.rows))
        return self.task.scores(self.examples, answers)[self.task.metric]


def quantize(
    opened: ModelFolder,
    folder: Path,
    *,
    examples: Sequence[Any] = (),
    calibrated: bool = False,
    portable: bool = False,
    force: bool = False,
) -> Quantized:
    """Writes an int8 serving folder; labelled `examples` of the model's task calibrate it and say what it costs."""
    judge = Judge.of(opened, examples) if examples else None
    whole = bert_graph(opened, portable=portable)
    seen = observe(opened, sample_rows(opened) if judge is None else judge.rows)
    before = None if judge is None else judge.score(_engine(opened, whole))
    for kept in _more_and_more(seen):
        graph = bert_graph(opened, portable=portable, precision=precision_of(seen, kept, calibrated=calibrated))
        after = None if judge is None else judge.score(_engine(opened, graph))
        lost = 0.0 if before is None or after is None else before - after
        if lost <= MOST_LOST:
            break
    if lost > MOST_LOST and not force:
        raise InputError(
            f"a model that loses {100 * lost:.1f} points in int8",
            wanted=f"at most {100 * MOST_LOST}",
            do="keep it in float32, or take the loss with --force",
        )
    made = write_serving(opened, folder, graph, QUANTIZED, full_check=portable)
    bytes_before = made.bytes - graph.ByteSize() + whole.ByteSize()
    metric = None if judge is None else judge.task.metric
    return Quantized(folder, bytes_before, made.bytes, made.max_difference, kept, metric, before, after)


def precision_of(seen: Mapping[str, Seen], kept: Sequence[str] = (), *, calibrated: bool = False) -> Precision:
    """All linear layers of the encoder but the kept ones, and all embeddings; inputs by fixed ranges if calibrated."""
    inputs = {name: layer.range for name, layer in seen.items()} if calibrated else {}
    return Precision(frozenset(seen) - frozenset(kept), TABLES, inputs)


def observe(opened: ModelFolder, rows: Sequence[Row]) -> dict[str, Seen]:
    """Watches the inputs of every linear layer of the encoder while rows go through: their range, and what int8 loses.

    >>> from unmask.model.about import About
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.names import LoadReport
    >>> from unmask.text.tokenizer import Tokenizer
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=5, pooler=False)
    >>> opened = ModelFolder(config, Bert(config), Tokenizer(SPECIAL_PIECES), About(), LoadReport())
    >>> list(observe(opened, [Row([2, 1, 3], [0, 0, 0], 0)]))[:2]
    ['bert.layers.0.qkv', 'bert.layers.0.attention_out']
    """
    numbers = numbers_of(opened)
    seen: dict[str, list[Seen]] = {}
    for inputs in _inputs(opened, _some(rows)):
        for name, x in inputs.items():
            seen.setdefault(name, []).append(_seen(x, numbers[f"{name}.weight"].T))
    return {name: _together(parts) for name, parts in seen.items()}


def _inputs(opened: ModelFolder, rows: Sequence[Row]) -> Iterator[dict[str, Numbers]]:
    """What each linear layer is given, batch by batch, padding left out."""  # (T, in) each
    graph = bert_graph(opened)
    sources = {
        node.name: node.input[0]
        for node in graph.graph.node
        if node.op_type == "Gemm" and node.name.startswith("bert.")  # heads are small, and stay as they are
    }
    if not sources:  # a table of static vectors: nothing but embeddings to round
        return
    for source in dict.fromkeys(sources.values()):
        graph.graph.output.append(onnx.ValueInfoProto(name=source))
    engine = _engine(opened, graph)
    for which in batches([len(row.ids) for row in rows]):
        batch = [rows[place] for place in which]
        values = engine.run(batch, list(dict.fromkeys(sources.values())))
        real = padded(batch)[1].reshape(-1) > 0
        yield {
            name: values[source][real] if len(values[source]) == len(real) else values[source]  # the pooler's: [CLS]
            for name, source in sources.items()
        }


def _seen(x: Numbers, weight: Numbers) -> Seen:
    """The range of inputs, cut where that loses least, and the share of the output's square that int8 changes."""
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    ranges = [InputRange(low * clip, high * clip) for clip in CLIPS]
    few = x[:: max(1, len(x) // 256)]
    best = min(ranges, key=lambda range: float(np.square(_rounded(few, range) - few).sum()))
    matrix = Precision().rounded("", weight)
    exact, found = x @ weight, _rounded(x, best) @ (matrix.rows * matrix.scales)
    return Seen(best, float(np.square(found - exact).sum() / max(np.square(exact).sum(), 1e-12)))


def _rounded(x: Numbers, range: InputRange) -> Numbers:
    """Inputs as a byte of a range has them."""
    steps: Numbers = np.clip(np.rint(x / range.scale) + range.zero, 0, 255)
    return (steps - range.zero) * np.float32(range.scale)


def _together(parts: Sequence[Seen]) -> Seen:
    lowest, highest = min(part.range.lowest for part in parts), max(part.range.highest for part in parts)
    return Seen(InputRange(lowest, highest), float(np.mean([part.error for part in parts])))


def _some(rows: Sequence[Row]) -> Sequence[Row]:
    """Enough rows to calibrate by, from all over."""
    tokens = sum(len(row.ids) for row in rows)
    return rows[:: max(1, tokens // CALIBRATION_TOKENS)]


def _more_and_more(seen: Mapping[str, Seen]) -> Iterator[tuple[str, ...]]:
    """Linear layers to keep in float32: none, then those that rounding hurts most, more each time."""
    worst_first = sorted(seen, key=lambda name: -seen[name].error)
    for share in KEPT_SHARES:
        yield tuple(worst_first[: round(share * len(seen))])


def _engine(opened: ModelFolder, graph: onnx.ModelProto) -> Engine:
    return Engine(graph.SerializeToString(), opened.about.head)
