"""Vectors of texts, by which like texts are near one another: both sides of a pair go through the one encoder.

Pairs with a value learn that their cosine is that value. Pairs without one belong together, and each is told from all
other pairs of its step (in-batch negatives) and from its hard negative, a text that only seems to belong to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import TextExample
from unmask.data.rows import Row
from unmask.decode.embeddings import Embedded, cosines, normalised, ranks
from unmask.errors import InputError
from unmask.model.about import POOLING_FIELDS, About
from unmask.tasks import metrics
from unmask.tasks.several_texts import LearnedTexts, Texts, learned_texts, outputs_of_texts, rows_of_texts
from unmask.tasks.task import LONGEST, Floats, Losses, Task, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

TEXT, PAIR, NEGATIVE = range(3)  # the parts of an example
METRICS = {"regression": ("spearman", "pearson"), "contrastive": ("accuracy_at_1", "mrr")}
COSINES = (-1.0, 1.0)  # values that are cosines already


@dataclass(frozen=True)
class TextEmbedding(Task):
    """Which vector has a text?

    >>> pairs = [TextExample("a", "b", 5.0), TextExample("c", "d", 0.0)]
    >>> TextEmbedding.learned_from(pairs).loss, TextEmbedding.learned_from([TextExample("a", "b")]).loss
    ('regression', 'contrastive')
    """

    kind = "embed"
    head = "embedding"
    together = True

    loss: str = "regression"  # or contrastive
    longest: int = LONGEST
    long_text: str = "head"
    pooling: str = "mean"  # of the tokens: mean, cls or max
    normalise: bool = True  # answers have length one
    temperature: float = 0.05  # by which cosines are divided where pairs are told from one another
    lowest: float = 0.0  # the value that stands for a cosine of 0
    highest: float = 1.0  # the value that stands for a cosine of 1

    @classmethod
    def learned_from(cls, examples: Sequence[TextExample], **options: Any) -> Self:
        """The task for pairs with values, which are stretched to 0..1 unless they are cosines; or for pairs without."""
        _check_pairs(examples)
        if (pooling := options.get("pooling", cls.pooling)) not in POOLING_FIELDS:
            raise InputError(f"pooling {pooling!r}", wanted=", ".join(POOLING_FIELDS), do="choose one with --pooling")
        values = [float(example.label) for example in examples if isinstance(example.label, float | int)]
        if not values:
            return cls(loss="contrastive", **options)
        lowest, highest = min(values), max(values)
        if lowest == highest:
            raise InputError(f"the one value {lowest} for all pairs", wanted="values, or no label column at all")
        if lowest >= COSINES[0] and highest <= COSINES[1]:
            lowest, highest = 0.0, 1.0
        return cls(loss="regression", lowest=lowest, highest=highest, **options)

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        return cls(
            loss=about.loss or "regression",
            longest=about.max_length or longest,
            long_text=about.long_text,
            pooling=about.pooling,
            normalise=about.normalise,
        )

    @property
    def about(self) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "max_length": self.longest,
            "long_text": self.long_text,
            "pooling": self.pooling,
            "normalise": self.normalise,
        }

    @property
    def outputs(self) -> int:
        return 0  # as many as the encoder is wide: the head has no weights

    @property
    def metric(self) -> str:
        return METRICS[self.loss][0]

    @property
    def whole_step(self) -> bool:  # type: ignore[override]
        """Pairs that are told from one another go through together."""
        return self.loss == "contrastive"

    def rows(self, examples: Sequence[TextExample], tokenizer: Tokenizer) -> list[Row]:
        texts = [_texts(example) for example in examples]
        numbers: dict[str, int] = {}  # texts that occur in several pairs are the same
        targets = [
            np.array([[self._value(example), numbers.setdefault(text, len(numbers))] for text, _ in own])
            for example, own in zip(examples, texts, strict=True)
        ]
        return rows_of_texts(tokenizer, texts, longest=self.longest, long_text=self.long_text, targets=targets)

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        import torch.nn.functional as F

        texts = learned_texts(outputs.float(), batch)
        vectors = F.normalize(texts.outputs, dim=-1)
        return self._told_apart(vectors, texts) if self.whole_step else self._as_alike_as(vectors, texts)

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        return {"pair": float(batch.groups.max() + 1)}

    def answers(
        self, examples: Sequence[TextExample], rows: Sequence[Row], outputs: Sequence[Floats]
    ) -> list[Embedded]:
        found = outputs_of_texts(len(examples), rows, outputs)
        return [Embedded(normalised(vectors) if self.normalise else vectors) for vectors in found]

    def scores(self, examples: Sequence[TextExample], answers: Sequence[Embedded]) -> dict[str, float]:
        _check_pairs(examples)
        firsts, seconds = (np.stack([answer.vectors[part] for answer in answers]) for part in (TEXT, PAIR))
        found = {}
        if self.loss == "contrastive":
            before = ranks(firsts, seconds)
            found = {"accuracy_at_1": float((before == 0).mean()), "mrr": float((1 / (1 + before)).mean())}
        expected, given = [self._value(example) for example in examples], cosines(firsts, seconds).tolist()
        if not np.isnan(expected).any():
            return found | {name: metrics.METRICS[name](expected, given) for name in METRICS["regression"]}
        if not found:
            raise InputError("pairs without values", wanted="a number in the column label of each")
        return found

    def _value(self, example: TextExample) -> float:
        given = float(example.label) if isinstance(example.label, float | int) else np.nan
        return (given - self.lowest) / (self.highest - self.lowest)

    def _as_alike_as(self, vectors: "Tensor", texts: LearnedTexts) -> Losses:
        """The squared distance of cosines from their values, as sentence-transformers' CosineSimilarityLoss."""
        import torch

        given = (vectors[texts.parts == TEXT] * vectors[texts.parts == PAIR]).sum(-1)
        expected = torch.from_numpy(texts.targets[texts.parts == TEXT, 0]).to(given)
        return {"pair": (given - expected).square().sum()}, {}

    def _told_apart(self, vectors: "Tensor", texts: LearnedTexts) -> Losses:
        """The cross-entropy of each text's own partner among all partners and hard negatives of the step."""
        import torch
        import torch.nn.functional as F

        order = np.concatenate([np.flatnonzero(texts.parts == part) for part in (PAIR, NEGATIVE)])
        scores = vectors[texts.parts == TEXT] @ vectors[order].T / self.temperature  # (examples, candidates)
        same = torch.from_numpy(same_texts(texts.targets[order, 1], len(scores))).to(scores.device)
        scores = scores.masked_fill(same, -torch.inf)
        expected = torch.arange(len(scores), device=scores.device)
        loss = F.cross_entropy(scores, expected, reduction="sum")
        return {"pair": loss}, {"pair_accuracy": (scores.argmax(-1) == expected).sum()}


def same_texts(numbers: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Which candidates are an example's own partner once more, and so no wrong answer.

    >>> same_texts(np.array([7, 8, 7]), 2).astype(int).tolist()
    [[0, 0, 1], [0, 0, 0]]
    """
    same: NDArray[np.bool_] = numbers[:count, None] == numbers[None]
    same[np.arange(count), np.arange(count)] = False
    return same


def _texts(example: TextExample) -> Texts:
    return [(text, None) for text in (example.text, example.pair, example.negative) if text is not None]


def _check_pairs(examples: Sequence[TextExample]) -> None:
    if any(example.pair is None for example in examples):
        raise InputError("texts without a partner", wanted="pairs", do="give two columns, text_a and text_b")
