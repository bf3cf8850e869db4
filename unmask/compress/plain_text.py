"""Text that nothing is asked of: what a model without a task, or without labels for it, is taught and compared on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from unmask.data.chance import uniform
from unmask.data.examples import TextExample
from unmask.data.ragged import Integers, Ragged
from unmask.data.rows import Row, text_rows
from unmask.model.about import About
from unmask.tasks.task import LONGEST, Floats, Losses, Task, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

MASK_RATE = 0.15
NOTHING = np.zeros(1, np.float32)  # the target of a row that has none


@dataclass(frozen=True)
class PlainText(Task):
    """What does an encoder make of a text?"""

    kind = "read"

    head: str = "embedding"  # or masked_words
    longest: int = LONGEST
    pooling: str = "mean"

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        masked = about.head in ("pretraining", "masked_words")
        return cls("masked_words" if masked else "embedding", min(longest, about.max_length or LONGEST))

    @property
    def about(self) -> dict[str, Any]:
        return {}

    @property
    def outputs(self) -> int:
        return 0

    @property
    def metric(self) -> str:
        return "agreement"

    def rows(self, examples: Sequence[TextExample], tokenizer: Tokenizer) -> list[Row]:
        texts = [(example.text, example.pair) for example in examples]
        return text_rows(tokenizer, texts, longest=self.longest, targets=[NOTHING] * len(texts))

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        raise AssertionError(f"a text alone asks nothing: {outputs.shape}, {len(batch.groups)} rows")

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        del batch
        return {}

    def answers(self, examples: Sequence[Any], rows: Sequence[Row], outputs: Sequence[Floats]) -> list[Floats]:
        del examples, rows
        return list(outputs)

    def scores(self, examples: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        raise AssertionError(f"a text alone has no right answer: {len(examples)} examples, {len(answers)} answers")


def hide_words(batch: Ragged, tokenizer: Tokenizer, rate: float = MASK_RATE) -> tuple[Ragged, Integers]:
    """The batch with some of its pieces behind masks, and where these are: a function of the batch alone, at least one.

    >>> from unmask.data.ragged import pack
    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])
    >>> hidden, places = hide_words(pack([[2, 5, 6, 5, 3]]), tokenizer, rate=0.4)
    >>> hidden.ids.tolist(), places.tolist()
    ([2, 5, 4, 5, 3], [2])
    """
    chances = uniform(int(batch.ids.sum()), np.arange(len(batch.ids)))
    chances[tokenizer.special[batch.ids]] = 1.0
    places = np.flatnonzero(chances < max(rate, chances.min() + 1e-12))
    ids = batch.ids.copy()
    ids[places] = tokenizer.mask_id
    return replace(batch, ids=ids), places
