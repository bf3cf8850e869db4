"""A model's figures on examples, for tests of what a training has taught it."""

from collections.abc import Sequence
from typing import Any

from unmask.data.rows import Row
from unmask.model.feature_cache import CachedFeatures
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.task import Task


def score(
    task: Task, model: BertWithHead | CachedFeatures, examples: Sequence[Any], rows: Sequence[Row]
) -> dict[str, float]:
    return task.scores(examples, task.answers(examples, rows, outputs_of(model, rows)))
