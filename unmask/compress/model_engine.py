"""Who computes a model folder's answers: torch at first, onnxruntime by an export in memory once there are many.

In: a model that is open in torch, and rows. Out: what its head says of each row, as `outputs_of` gives it, to within
rounding. An export takes as long as torch takes for some 3,000 to 8,000 tokens, whatever the size of the model; from
then on onnxruntime saves a tenth to a quarter of the time of many texts, and two thirds of that of one
(record 2026-11-18_model_engine).
"""

from collections.abc import Sequence

import torch

from unmask.data.rows import Row
from unmask.model.folder import ModelFolder, count_parameters
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.runtime.engine import TWICE, Engine, Floats, Report
from unmask.runtime.folder import ServingFolder
from unmask.training.half_precision import PRECISIONS, settled_precision

ENOUGH = 50_000  # tokens that make up for an export
CALL = 400  # tokens that a call counts as beside its own: a hundred texts one by one make up for it too


class ModelEngine:
    """A model folder that answers by the engine that is faster for what it was asked so far."""

    def __init__(self, opened: ModelFolder, *, precision: str = "float32") -> None:
        assert isinstance(opened.model, BertWithHead)
        self.opened, self.model = opened, opened.model
        self.precision = settled_precision(precision, _device(opened))
        self._tokens = 0  # that were asked for, calls included
        self._served: ServingFolder | None = None

    @property
    def name(self) -> str:
        """Who computes now, for people."""
        if self._served is not None:
            return self._served.engine.name
        return "torch" if self.precision == "float32" else f"torch, products in {self.precision}"

    def outputs(self, rows: Sequence[Row], *, report: Report = lambda *_: None) -> list[Floats]:
        """What the head says of each row, in their order."""
        self._tokens += CALL + sum(len(row.ids) for row in rows)
        if self._served is None and self._worth_an_export:
            self._served = in_memory(self.opened)
        if self._served is not None:
            return self._served.engine.outputs(rows, report=report)
        return outputs_of(self.model, rows, precision=PRECISIONS[self.precision], report=report)

    @property
    def _worth_an_export(self) -> bool:
        """Models that are too large for a session of each thread, such as base, gain nothing by it."""
        return self._tokens >= ENOUGH and self.precision == "float32" and can_be_exported(self.opened, within=TWICE)


def in_memory(opened: ModelFolder) -> ServingFolder:
    """A model as its float32 export would be opened, without a folder; with as many threads as torch has.

    >>> from unmask.model.about import About
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.names import LoadReport
    >>> from unmask.text.tokenizer import Tokenizer
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=5)
    >>> opened = ModelFolder(config, Bert(config), Tokenizer(SPECIAL_PIECES), About(), LoadReport())
    >>> [states.shape for states in in_memory(opened).engine.outputs([Row([2, 1, 3], [0, 0, 0], 0)])]
    [(3, 128)]
    """
    from unmask.compress.onnx_bert import bert_graph  # brings onnx, which those who ask little need not wait for

    graph = bert_graph(opened).SerializeToString()
    engine = Engine(graph, opened.about.head, threads=torch.get_num_threads())
    return ServingFolder(opened.config, opened.about, opened.tokenizer, engine)


def can_be_exported(opened: ModelFolder, *, within: int) -> bool:
    """Whether a model on a processor has a graph of at most so many bytes: those that read left to right have none."""
    return _device(opened) == "cpu" and not opened.config.causal and 4 * count_parameters(opened.model) <= within


def _device(opened: ModelFolder) -> str:
    return next(opened.model.parameters()).device.type
