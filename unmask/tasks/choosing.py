"""Which ending fits? A context and several endings (SWAG, CODAH), or a question with several answers (C3).

Every ending is a row of its own, `[CLS] context [SEP] ending [SEP]`; where there is a question, or the beginning of
the sentence that the endings end, it stands before each: `[CLS] context [SEP] question ending [SEP]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unmask.data.examples import ChoiceExample
from unmask.data.rows import Row
from unmask.decode.choices import Chosen, chosen
from unmask.tasks import metrics
from unmask.tasks.several_texts import Texts, learned_texts, outputs_of_texts, rows_of_texts
from unmask.tasks.task import Floats, Losses, OneOutput, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Choosing(OneOutput):
    """Which of several endings is right? Examples may have different numbers of them."""

    kind = "choose"
    head = "choice"

    metrics: tuple[str, ...] = ("accuracy",)

    def rows(self, examples: Sequence[ChoiceExample], tokenizer: Tokenizer) -> list[Row]:
        known = all(example.label is not None for example in examples)
        targets = [np.arange(len(example.endings))[:, None] == example.label for example in examples]
        return rows_of_texts(
            tokenizer,
            [_texts(example) for example in examples],
            longest=self.longest,
            long_text=self.long_text,
            targets=targets if known else None,
        )

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        import torch
        import torch.nn.functional as F

        texts = learned_texts(outputs.float(), batch)
        shape = int(texts.examples.max()) + 1, int(texts.parts.max()) + 1
        scores = texts.outputs.new_full(shape, -torch.inf)  # (examples, endings): what is not there is never chosen
        scores[texts.examples, texts.parts] = texts.outputs[:, 0]
        expected = torch.from_numpy(texts.parts[texts.targets[:, 0] == 1]).to(outputs.device)
        loss = F.cross_entropy(scores, expected, reduction="sum")
        return {"choice": loss}, {"choice_accuracy": (scores.argmax(-1) == expected).sum()}

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        return {"choice": float(batch.groups.max() + 1)}

    def answers(
        self, examples: Sequence[ChoiceExample], rows: Sequence[Row], outputs: Sequence[Floats]
    ) -> list[Chosen]:
        return chosen(scores[:, 0] for scores in outputs_of_texts(len(examples), rows, outputs))

    def scores(self, examples: Sequence[ChoiceExample], answers: Sequence[Chosen]) -> dict[str, float]:
        expected, given = [example.label for example in examples], [answer.choice for answer in answers]
        return {name: metrics.METRICS[name](expected, given) for name in self.metrics}


def _texts(example: ChoiceExample) -> Texts:
    return [(example.context, f"{example.question} {ending}".strip()) for ending in example.endings]
