"""A model to measure, whichever engine runs it: a folder in; its task, its tokenizer and what it says of rows out.

Serving folders open without torch, so that how soon they answer can be measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.compress.agreement import agreement
from unmask.compress.plain_text import PlainText, hide_words
from unmask.data.ragged import pack
from unmask.data.rows import Row
from unmask.model.about import About
from unmask.model.named import find_model
from unmask.runtime.folder import is_serving_folder, open_serving
from unmask.tasks.kinds import KINDS, task_of
from unmask.tasks.task import Floats, Task
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

Outputs = Callable[[Sequence[Row]], list[Floats]]
MASKED = ("pretraining", "masked_words")
FEW = 64  # texts whose masked words are guessed: each gives a score for every word of the vocabulary


@dataclass(frozen=True)
class Variant:
    """A model that can be asked."""

    task: Task  # PlainText where it has none of its own
    tokenizer: Tokenizer
    outputs: Outputs
    engine: str  # who computes, for people

    def answers(self, examples: Sequence[Any]) -> list[Any]:
        """What it says of examples."""
        rows = self.task.rows(examples, self.tokenizer)
        return self.task.answers(examples, rows, self.outputs(rows))


def open_variant(name: Path | str) -> Variant:
    """A folder with the engine that it is made for."""
    folder = find_model(name)
    if not is_serving_folder(folder):
        from unmask.model.folder import open_model

        return of_model(open_model(name))
    opened = open_serving(folder)
    task = task_for(opened.about, opened.config.positions)
    outputs: Outputs = opened.engine.outputs
    return Variant(task, opened.tokenizer, outputs if opened.about.head else partial(_means, outputs), "onnxruntime")


def of_model(opened: "ModelFolder") -> Variant:
    """A model that is open in torch."""
    from unmask.model.heads import BertWithHead, Embedding, Pretraining
    from unmask.model.outputs import outputs_of

    model = opened.model
    if not isinstance(model, BertWithHead):
        model = BertWithHead(model, Embedding("mean"))
    elif isinstance(model.head, Pretraining):
        model = BertWithHead(model.bert, model.head.words)
    return Variant(
        task_for(opened.about, opened.config.positions), opened.tokenizer, partial(outputs_of, model), "torch"
    )


def task_for(about: About, positions: int) -> Task:
    """The task of a model, or plain text for one that has none.

    >>> task_for(About(), 512).kind
    'read'
    """
    own = {head for kind in KINDS.values() for head in (kind.task.head, *kind.heads)}
    return task_of(about, positions) if about.head in own else PlainText.of(about, positions)


def score(variant: Variant, examples: Sequence[Any], *, labelled: bool, beside: Variant) -> tuple[str, float]:
    """How good a variant is, and by which figure.

    With labels by the task's own metric; of masked words how many are found; else how far it agrees with another.
    """
    if labelled:
        return variant.task.metric, variant.task.scores(examples, variant.answers(examples))[variant.task.metric]
    if variant.task.head == "masked_words":
        return "masked_accuracy", masked_accuracy(variant, examples[:FEW])
    given, expected = (one.outputs(one.task.rows(examples, one.tokenizer)) for one in (variant, beside))
    return "agreement", agreement(given, expected, variant.task.head)


def masked_accuracy(variant: Variant, examples: Sequence[Any]) -> float:
    """How many of the words behind masks a model finds."""
    right = []
    rows = variant.task.rows(examples, variant.tokenizer)
    hidden = [hide_words(pack([row.ids]), variant.tokenizer) for row in rows]
    masked = [replace(row, ids=batch.ids.tolist()) for row, (batch, _) in zip(rows, hidden, strict=True)]
    for row, (_, places), logits in zip(rows, hidden, variant.outputs(masked), strict=True):
        right += (logits[places].argmax(-1) == np.asarray(row.ids)[places]).tolist()
    return float(np.mean(right))


def _means(outputs: Outputs, rows: Sequence[Row]) -> list[Floats]:
    """One vector a row of one a token."""
    return [part.mean(0) for part in outputs(rows)]
