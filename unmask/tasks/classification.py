"""Classes of a text or a pair of texts: one of several, or any number of them.

Examples with a label in, an answer with the probability of every class out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from unmask.data.examples import TextExample
from unmask.data.rows import Row, text_rows
from unmask.data.tables import order_labels
from unmask.decode.labels import Classified, MultiLabelled, classified, fit_temperature, multi_labelled
from unmask.model.about import About
from unmask.tasks import metrics
from unmask.tasks.task import LONGEST, Floats, Losses, Task, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

FEWEST_TO_CALIBRATE = 50  # examples without which a temperature would be chance
SEVERAL_METRICS = ("micro_f1", "macro_f1")  # where a text has any number of classes
TEMPERATURE = "temperature"  # by which logits are divided, so that probabilities say how often they are right


@dataclass(frozen=True)
class Classification(Task):
    """Which class, or which classes, does a text belong to?

    >>> task = Classification.learned_from([TextExample("fine", label="good"), TextExample("dull", label="bad")])
    >>> task.labels
    ('bad', 'good')
    """

    kind = "classify"
    head = "classes"
    together = True

    labels: tuple[str, ...]
    multi_label: bool = False
    longest: int = LONGEST  # pieces that a text is cut to
    long_text: str = "head"
    metrics: tuple[str, ...] = ("accuracy", "macro_f1")  # the first counts
    thresholds: Mapping[str, float] = field(default_factory=dict)  # temperature, or the threshold of a label
    weights: tuple[float, ...] = ()  # of the classes in the loss; all alike if none

    @classmethod
    def learned_from(cls, examples: Sequence[TextExample], **options: Any) -> Self:
        """The task with the labels of its examples, in the order of the alphabet (numbers by their size)."""
        multi_label = any(isinstance(example.label, tuple) for example in examples)
        found = {label for example in examples for label in _labels(example)}
        if multi_label:
            options["metrics"] = SEVERAL_METRICS
        return cls(labels=options.pop("labels", None) or order_labels(found), multi_label=multi_label, **options)

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        return cls(
            labels=about.labels,
            multi_label=about.multi_label,
            longest=about.max_length or longest,
            long_text=about.long_text,
            metrics=SEVERAL_METRICS if about.multi_label else cls.metrics,
            thresholds=about.thresholds,
        )

    @property
    def about(self) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "multi_label": self.multi_label,
            "max_length": self.longest,
            "long_text": self.long_text,
            "thresholds": dict(self.thresholds),
        }

    @property
    def outputs(self) -> int:
        return len(self.labels)

    @property
    def metric(self) -> str:
        return self.metrics[0]

    def rows(self, examples: Sequence[TextExample], tokenizer: Tokenizer) -> list[Row]:
        targets = None if any(example.label is None for example in examples) else [self._target(e) for e in examples]
        texts = [(example.text, example.pair) for example in examples]
        return text_rows(tokenizer, texts, longest=self.longest, long_text=self.long_text, targets=targets)

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        import torch
        import torch.nn.functional as F

        logits = pooled(outputs.float(), batch.groups)  # (examples, classes)
        targets = torch.from_numpy(first_of_examples(batch)).to(outputs.device)
        if self.multi_label:
            loss = F.binary_cross_entropy_with_logits(logits, targets, reduction="sum") / self.outputs
            right = ((logits > 0) == (targets > 0.5)).float().mean(-1).sum()
            return {"class": loss}, {"class_accuracy": right}
        expected = targets[:, 0]
        weights = torch.tensor(self.weights, device=outputs.device) if self.weights else None
        loss = F.cross_entropy(logits, expected, weight=weights, reduction="sum")
        return {"class": loss}, {"class_accuracy": (logits.argmax(-1) == expected).sum()}

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        return {"class": float(batch.groups.max() + 1)}

    def answers(
        self, examples: Sequence[TextExample], rows: Sequence[Row], outputs: Sequence[Floats]
    ) -> list[Classified] | list[MultiLabelled]:
        logits = of_examples(len(examples), rows, outputs)
        if self.multi_label:
            own = {label: self.thresholds.get(label, 0.5) for label in self.labels}
            return multi_labelled(logits, self.labels, threshold=own)
        return classified(logits, self.labels, temperature=self.thresholds.get(TEMPERATURE, 1.0))

    def scores(
        self, examples: Sequence[TextExample], answers: Sequence[Classified | MultiLabelled]
    ) -> dict[str, float]:
        if self.multi_label:
            return _several_scores(examples, answers, self.labels)
        expected, given = [example.label for example in examples], [answer.to_dict()["label"] for answer in answers]
        return {name: metrics.METRICS[name](expected, given) for name in self.metrics}

    def calibrated(self, examples: Sequence[TextExample], rows: Sequence[Row], outputs: Sequence[Floats]) -> Self:
        if self.multi_label or len(examples) < FEWEST_TO_CALIBRATE:
            return self
        logits = of_examples(len(examples), rows, outputs)
        expected = np.array([self.labels.index(str(example.label)) for example in examples])
        if (logits.argmax(-1) == expected).all():  # without a mistake the likeliest temperature is the lowest
            return self
        return replace(self, thresholds={**self.thresholds, TEMPERATURE: fit_temperature(logits, expected)})

    def weighted(self, examples: Sequence[TextExample]) -> Self:
        """Rare classes count as much as frequent ones in the loss.

        >>> examples = [TextExample("", label=label) for label in ("a", "a", "a", "b")]
        >>> [round(weight, 2) for weight in Classification.learned_from(examples).weighted(examples).weights]
        [0.67, 2.0]
        """
        found = Counter(str(example.label) for example in examples)
        return replace(
            self, weights=tuple(len(examples) / (self.outputs * max(found[label], 1)) for label in self.labels)
        )

    def _target(self, example: TextExample) -> np.ndarray[Any, np.dtype[Any]]:
        if self.multi_label:
            return np.array([label in _labels(example) for label in self.labels], dtype=np.float32)
        return np.array([self.labels.index(str(example.label))], dtype=np.int64)


def of_examples(count: int, rows: Sequence[Row], outputs: Sequence[Floats]) -> Floats:
    """One output for each example: the mean over its rows."""  # (examples, outputs)
    owners = np.array([row.example for row in rows])
    sums = np.zeros((count, outputs[0].shape[-1]), dtype=np.float32)
    np.add.at(sums, owners, np.stack(outputs))
    sums /= np.bincount(owners, minlength=count)[:, None]
    return sums


def pooled(outputs: "Tensor", groups: np.ndarray[Any, np.dtype[np.int64]]) -> "Tensor":
    """The same of a batch while it is learned."""  # (B, outputs) -> (examples, outputs)
    import torch

    owners = torch.from_numpy(groups).to(outputs.device)
    count = int(groups.max()) + 1
    if count == len(groups):
        return outputs[torch.argsort(owners)]
    sums = outputs.new_zeros(count, outputs.shape[1]).index_add(0, owners, outputs)
    return sums / torch.bincount(owners, minlength=count)[:, None]


def first_of_examples(batch: TaskBatch) -> np.ndarray[Any, np.dtype[Any]]:
    """The targets of examples: those of each one's first row."""
    _, first = np.unique(batch.groups, return_index=True)
    return batch.targets[first]


def _several_scores(examples: Sequence[TextExample], answers: Sequence[Any], labels: Sequence[str]) -> dict[str, float]:
    micro, macro = metrics.multi_label_f1([_labels(e) for e in examples], [a.labels for a in answers], labels)
    return dict(zip(SEVERAL_METRICS, (micro, macro), strict=True))


def _labels(example: TextExample) -> tuple[str, ...]:
    return example.label if isinstance(example.label, tuple) else (str(example.label),)
