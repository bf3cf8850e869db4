"""What a task is: examples become rows, the head's outputs become a loss, and answers, and a score.

A task is a value that holds what its model folder must say (labels, lengths, thresholds). Only `losses` touches torch,
and imports it then: reading and answering serve the torch-free runtime as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unmask.data.ragged import Integers, Ragged, pack
from unmask.data.rows import Row
from unmask.model.about import About
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]
Losses = tuple[dict[str, "Tensor"], dict[str, "Tensor"]]  # losses summed over their labels; figures to sum up
LONGEST = 128  # pieces that a text is cut to, unless asked otherwise


class Answer(Protocol):
    """What a model says of one example."""

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        ...


@dataclass(frozen=True)
class TaskBatch:
    """Rows as a model reads them, and what is to be learned from them, in the order of the ragged batch."""

    ragged: Ragged
    targets: NDArray[np.generic]  # (B, …) of sequences, or (T, …) of tokens
    groups: Integers  # (B,) rows of one example have one number, counted from 0


class Task(ABC):
    """A kind of question that a BERT is trained to answer."""

    kind: ClassVar[str]  # the word for it on the command line
    head: str  # what reads the encoder: a name of model.heads.HEADS
    per_token: ClassVar[bool] = False  # targets and outputs stand beside tokens, not sequences
    together: ClassVar[bool] = False  # the rows of an example are learned in one batch
    longest: int  # pieces that a row has at most
    whole_step: ClassVar[bool] = False  # all rows of a step are learned in one batch

    @property
    def segments(self) -> int:
        """How many segments its rows have."""
        return 2

    @classmethod
    @abstractmethod
    def of(cls, about: About, longest: int) -> Self:
        """The task that a model folder describes; `longest` is the number of its positions."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What the model folder must say of it: fields of `About`."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many numbers the head gives."""

    @property
    @abstractmethod
    def metric(self) -> str:
        """The name of the score that counts."""

    @abstractmethod
    def rows(self, examples: Sequence[Any], tokenizer: Tokenizer) -> list[Row]:
        """What the model reads of examples, in their order; an example may take several rows."""

    @abstractmethod
    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        """Each loss summed over its labels, and figures such as how many were right (`x_accuracy` for the loss `x`)."""

    @abstractmethod
    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        """How many labels each loss has in a batch."""

    @abstractmethod
    def answers(self, examples: Sequence[Any], rows: Sequence[Row], outputs: Sequence[Floats]) -> list[Any]:
        """The answer for each example, from what the head said of its rows."""

    @abstractmethod
    def scores(self, examples: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        """How right the answers are: official figures between 0 and 1 (correlations from -1), the metric among them."""

    def calibrated(self, examples: Sequence[Any], rows: Sequence[Row], outputs: Sequence[Floats]) -> Self:
        """The same with temperature or threshold chosen on examples that were not trained on."""
        del examples, rows, outputs
        return self


@dataclass(frozen=True)
class OneOutput(Task):
    """A task whose head gives one number for a row, and of which nothing has to be known before it is learned."""

    together = True

    longest: int = LONGEST  # pieces of a row; in a pair the longer text gives way first
    long_text: str = "head"  # the part of a long text that is read
    metrics: tuple[str, ...] = ()  # the first counts

    @classmethod
    def learned_from(cls, examples: Sequence[Any], **options: Any) -> Self:
        """The task of any examples."""
        del examples
        return cls(**options)

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        return cls(longest=about.max_length or longest, long_text=about.long_text)

    @property
    def about(self) -> dict[str, Any]:
        return {"max_length": self.longest, "long_text": self.long_text}

    @property
    def outputs(self) -> int:
        return 1

    @property
    def metric(self) -> str:
        return self.metrics[0]


def make_batch(rows: Sequence[Row], per_token: bool) -> TaskBatch:
    """Rows packed without padding, their targets beside them.

    >>> rows = [Row([2, 7, 3], [0] * 3, 4, np.array([1])), Row([2, 3], [0] * 2, 5, np.array([0]))]
    >>> batch = make_batch(rows, per_token=False)
    >>> batch.ragged.ids.tolist(), batch.targets.tolist(), batch.groups.tolist()
    ([2, 3, 2, 7, 3], [[0], [1]], [1, 0])
    """
    ragged = pack([row.ids for row in rows], [row.segments for row in rows])
    ordered = [rows[place] for place in ragged.order]
    targets = [row.target for row in ordered if row.target is not None]
    assert len(targets) == len(rows), "rows to learn from have targets"
    _, groups = np.unique([row.example for row in ordered], return_inverse=True)
    return TaskBatch(ragged, np.concatenate(targets) if per_token else np.stack(targets), groups.astype(np.int64))
