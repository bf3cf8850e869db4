"""Distillation: a task that wraps a task. A teacher and a student in, a student that answers like its teacher out.

Examples may have labels or none: the student learns the teacher's outputs, its hidden states and how its tokens relate
(`lessons.py`), and labels where there are some. The teacher is asked as the batches come, without gradients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unmask.compress.agreement import agreement
from unmask.compress.lessons import LESSONS, relations, several_classes, states
from unmask.compress.overhearing import Heard, overheard
from unmask.compress.plain_text import MASK_RATE, hide_words
from unmask.compress.student import principal_directions, taught_layers
from unmask.data.ragged import Ragged
from unmask.data.rows import Row
from unmask.data.word_rows import NO_LABEL, WordRow
from unmask.model.about import About
from unmask.model.dropout import Chance
from unmask.model.heads import BertWithHead
from unmask.tasks.task import Floats, Losses, Task, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.feature_cache import CachedFeatures


@dataclass(frozen=True)
class Teaching:
    """How much each lesson counts; what counts nothing is not computed."""

    outputs: float = 1.0  # the teacher's answers
    hidden: float = 1.0  # states after the embeddings and each of the student's layers
    relations: float = 1.0  # queries, keys and values of the last layer
    labels: float = 1.0  # the task's own loss, where examples have labels
    temperature: float = 2.0  # by which logits are divided


@dataclass(frozen=True)
class Distilled(Task):
    """A task whose answers come from a teacher."""

    inner: Task
    teaching: Teaching = Teaching()
    labelled: bool = True  # the training examples have labels
    expected: tuple[Floats, ...] = ()  # what the teacher says of the dev rows, where there are no labels to score by

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        raise AssertionError(f"a folder tells the task itself, not how it was learned: {about.head}, {longest}")

    kind = property(lambda self: self.inner.kind)
    head = property(lambda self: self.inner.head)
    longest = property(lambda self: self.inner.longest)
    per_token = property(lambda self: self.inner.per_token)
    together = property(lambda self: self.inner.together)
    whole_step = property(lambda self: self.inner.whole_step)

    @property
    def about(self) -> dict[str, Any]:
        return self.inner.about

    @property
    def outputs(self) -> int:
        return self.inner.outputs

    @property
    def metric(self) -> str:
        return "agreement" if self.expected else self.inner.metric

    def rows(self, examples: Sequence[Any], tokenizer: Tokenizer) -> list[Row]:
        rows = self.inner.rows(examples, tokenizer)
        return [row if row.target is not None else replace(row, target=no_target(row)) for row in rows]

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        return self.inner.losses(outputs, batch)

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        tokens, rows = float(len(batch.ragged.ids)), float(len(batch.ragged.lengths))
        words = float((batch.targets != NO_LABEL).sum()) if self.per_token else 0.0
        outputs = max(1.0, MASK_RATE * tokens) if self.head == "masked_words" else words or rows
        taught = {"outputs": outputs, "hidden": tokens, "relations": tokens}
        counts = {name: count for name, count in taught.items() if getattr(self.teaching, name)}
        return {**counts, **(self.inner.counts(batch) if self.learns_labels else {})}

    @property
    def learns_labels(self) -> bool:
        """Whether labels count."""
        return self.labelled and self.teaching.labels > 0

    def answers(self, examples: Sequence[Any], rows: Sequence[Row], outputs: Sequence[Floats]) -> list[Any]:
        return list(outputs) if self.expected else self.inner.answers(examples, rows, outputs)

    def scores(self, examples: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        if self.expected:
            return {"agreement": agreement(answers, self.expected, self.head)}
        return self.inner.scores(examples, answers)


class Distilling(nn.Module):
    """A student with its teacher: what the loop trains."""

    def __init__(
        self, model: "BertWithHead | CachedFeatures", task: Task, *, teacher: BertWithHead, tokenizer: Tokenizer
    ) -> None:
        super().__init__()
        assert isinstance(model, BertWithHead)
        assert isinstance(task, Distilled)
        self.model, self.task, self.tokenizer = model, task, tokenizer
        self._teacher = [teacher.eval()]  # in a list: it does not learn, and is no part of a checkpoint
        mine, theirs = model.bert.config.width, teacher.bert.config.width
        self.projection: nn.Linear | None = None
        if task.teaching.hidden and mine != theirs:
            self.projection = nn.Linear(mine, theirs, bias=False)
            turn = principal_directions(teacher.bert.embeddings.words.weight, mine)  # (D, D') as the student's start
            self.projection.weight.data.copy_(turn)
        several = getattr(task.inner, "multi_label", False)
        self.lesson = several_classes if several else LESSONS[task.head]

    def forward(self, batch: TaskBatch, chance: Chance | None) -> Losses:
        """Each lesson's loss, summed, and the task's own where examples have labels."""
        teaching = self.task.teaching
        ragged, positions = self._read(batch.ragged)
        with torch.no_grad(), overheard(_parts(self._teacher[0], self._taught())) as theirs:
            expected = _say(self._teacher[0], ragged, positions, None)
        with overheard(_parts(self.model, range(len(self.model.bert.layers) + 1))) as mine:
            given = _say(self.model, ragged, positions, chance)
        losses: dict[str, Tensor] = {}
        if teaching.outputs:
            losses["outputs"] = teaching.outputs * self.lesson(given, expected, batch, teaching.temperature)
        if teaching.hidden:
            losses["hidden"] = teaching.hidden * self._hidden(mine, theirs)
        if teaching.relations:
            own, other = mine["qkv"].said, theirs["qkv"].said
            losses["relations"] = teaching.relations * relations(own, other, ragged.stacks)
        if not self.task.learns_labels:
            return losses, {}
        labels, figures = self.task.losses(given, batch)
        return {**losses, **{name: teaching.labels * loss for name, loss in labels.items()}}, figures

    def _read(self, ragged: Ragged) -> tuple[Ragged, NDArray[np.int64] | None]:
        return hide_words(ragged, self.tokenizer) if self.task.head == "masked_words" else (ragged, None)

    def _taught(self) -> list[int]:
        """The teacher's layer for each of the student's, embeddings (0) first."""
        return [0, *taught_layers(len(self.model.bert.layers), len(self._teacher[0].bert.layers))]

    def _hidden(self, mine: Mapping[str, Heard], theirs: Mapping[str, Heard]) -> Tensor:
        """The mean over the student's layers."""
        pairs = list(enumerate(self._taught()))
        total = torch.zeros(())
        for own, other in pairs:
            given = mine[f"{own}"].said
            projected = given if self.projection is None else self.projection(given)
            total = total + states(projected, theirs[f"{other}"].said)
        return total / len(pairs)


def _parts(model: BertWithHead, layers: Sequence[int]) -> dict[str, nn.Module]:
    """What is listened to: the embeddings (0) and some layers, and what the last layer attends by."""
    levels = [model.bert.embeddings, *model.bert.layers]
    return {f"{layer}": levels[layer] for layer in layers} | {"qkv": model.bert.layers[-1].qkv}


def _say(model: BertWithHead, ragged: Ragged, positions: NDArray[np.int64] | None, chance: Chance | None) -> Tensor:
    """What a model says of a batch; of masked words only where there is a mask."""
    if positions is None:
        outputs: Tensor = model.learn(ragged, chance, whole=True)
        return outputs
    encoded = model.bert(ragged, chance=chance)
    found: Tensor = model.head(encoded, torch.from_numpy(positions).to(encoded.hidden.device))
    return found


def no_target(row: Row) -> NDArray[Any]:
    """What stands where a label would, of a row without one: its part, or of a sentence of words where they begin."""
    if isinstance(row, WordRow):
        target = np.full(len(row.ids), NO_LABEL, np.int64)
        target[row.places] = 0
        return target
    return np.array([row.part, 0], np.int64)
