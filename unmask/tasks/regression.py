"""A value for a text or a pair of texts, such as how alike two sentences are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unmask.data.examples import TextExample
from unmask.data.rows import Row, text_rows
from unmask.decode.labels import Valued, valued
from unmask.tasks import metrics
from unmask.tasks.classification import first_of_examples, of_examples, pooled
from unmask.tasks.task import Floats, Losses, OneOutput, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Regression(OneOutput):
    """Which value has a text?"""

    kind = "regress"
    head = "regression"

    metrics: tuple[str, ...] = ("spearman", "pearson")

    def rows(self, examples: Sequence[TextExample], tokenizer: Tokenizer) -> list[Row]:
        known = all(example.label is not None for example in examples)
        targets = [np.array([example.label], dtype=np.float32) for example in examples] if known else None
        texts = [(example.text, example.pair) for example in examples]
        return text_rows(tokenizer, texts, longest=self.longest, long_text=self.long_text, targets=targets)

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        import torch
        import torch.nn.functional as F

        expected = torch.from_numpy(first_of_examples(batch)).to(outputs.device)
        return {"value": F.mse_loss(pooled(outputs.float(), batch.groups), expected, reduction="sum")}, {}

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        return {"value": float(batch.groups.max() + 1)}

    def answers(self, examples: Sequence[TextExample], rows: Sequence[Row], outputs: Sequence[Floats]) -> list[Valued]:
        return valued(of_examples(len(examples), rows, outputs))

    def scores(self, examples: Sequence[TextExample], answers: Sequence[Valued]) -> dict[str, float]:
        expected, given = [float(e.label) for e in examples], [answer.value for answer in answers]  # type: ignore[arg-type]
        return {name: metrics.METRICS[name](expected, given) for name in self.metrics}
