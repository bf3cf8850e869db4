"""A task learned in memory: examples in, a model that answers out; a folder only when it is asked to save itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from unmask.compress.model_engine import ModelEngine
from unmask.data.splitting import split
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.model.heads import BertWithHead
from unmask.model.names import LoadReport
from unmask.model.starting_point import was_averaged, with_fresh_head
from unmask.tasks.classification import Classification
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.finetuning import FineTuning, FineTuningSettings, fitting_rate
from unmask.tasks.kinds import task_of
from unmask.tasks.task import Task
from unmask.text.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Learned:
    """A model and the task that it answers."""

    config: BertConfig
    model: BertWithHead
    tokenizer: Tokenizer
    task: Any  # a Task; its kind says which answers it gives

    def answers(self, examples: Sequence[Any]) -> list[Any]:
        """The answer for each example."""
        if not examples:
            return []
        rows = self.task.rows(examples, self.tokenizer)
        engine = ModelEngine(ModelFolder(self.config, self.model, self.tokenizer, self._about({}), LoadReport()))
        return list(self.task.answers(examples, rows, engine.outputs(rows)))

    def save(self, folder: Path, provenance: Mapping[str, Any]) -> None:
        """Writes a model folder, as `unmask finetune` does."""
        save_model(folder, self.config, self.model, self.tokenizer, self._about(provenance))

    def _about(self, provenance: Mapping[str, Any]) -> About:
        return About(head=self.task.head, task=self.task.kind, provenance=provenance, **self.task.about)


def learn(
    kind: type[Task],
    examples: Sequence[Any],
    *,
    model: Path | str,
    settings: FineTuningSettings,
    options: Mapping[str, Any],
    learning_rate: float | None = None,
    validation: float = 0.0,
    device: str = "cpu",
) -> Learned:
    """Fine-tunes a model on examples; a share set aside as validation chooses the best epoch and calibrates answers."""
    opened = open_model(model, device=device)
    rate = fitting_rate(settings.learning_rate, opened.config.width) if learning_rate is None else learning_rate
    task = fitting(kind.learned_from(examples, **options), opened.config.positions, options)  # type: ignore[attr-defined]
    settings = replace(settings, learning_rate=rate, mean_start=was_averaged(opened, task.head))
    config, learner = with_fresh_head(
        opened,
        task.head,
        outputs=task.outputs,
        pooling=getattr(task, "pooling", "mean"),
        dropout=settings.dropout,
        segments=task.segments,
        mean_start=settings.mean_start,
        seed=settings.seed,
    )
    training, aside = divided(examples, validation, settings.seed)
    with TemporaryDirectory() as folder:
        tuning = FineTuning(
            Path(folder), task, learner.to(device), opened.tokenizer, training, aside, settings, save_every=inf
        )
        tuning.resume()
        for _ in tuning.train():
            pass
    if aside:
        task = task.calibrated(aside, tuning.dev_rows, tuning.outputs())
    return Learned(config, learner.eval(), opened.tokenizer, task)


def fitting(task: Any, positions: int, options: Mapping[str, Any]) -> Any:
    """The task with a length that the model has positions for; a length that was asked for is not changed."""
    if task.longest <= positions:
        return task
    if "longest" not in options:
        return replace(task, longest=positions)
    raise InputError(f"length {task.longest} for a model of {positions} positions", wanted=f"at most {positions}")


def divided(examples: Sequence[Any], share: float, seed: int) -> tuple[list[Any], list[Any]]:
    """Examples to learn from and those set aside, classes in their shares.

    >>> [len(part) for part in divided(list("abcdefgh"), 0.25, 0)]
    [6, 2]
    """
    if not share:
        return list(examples), []
    labels = [getattr(example, "label", None) for example in examples]
    by = labels if all(isinstance(label, str) for label in labels) else None
    kept, aside = split(examples, share, seed=seed, by=by)
    return [examples[i] for i in kept], [examples[i] for i in aside]


def open_learned(folder: Path | str, kind: type[Task], *, device: str = "cpu") -> tuple[Learned, About]:
    """A model that was fine-tuned for a kind of task, by whatever way."""
    opened = open_model(folder, device=device)
    task = task_of(opened.about, opened.config.positions, str(folder))
    if not isinstance(task, kind) or not isinstance(opened.model, BertWithHead):
        raise InputError(f"{folder}, a model for {task.kind}", wanted=f"one for {kind.kind}")
    return Learned(opened.config, opened.model, opened.tokenizer, task), opened.about


def as_embedder(opened: ModelFolder, options: Mapping[str, Any]) -> Learned:
    """An encoder as it is, giving vectors: by the folder's own pooling, or the mean of its tokens."""
    known = opened.about.head == TextEmbedding.head
    task = TextEmbedding.of(opened.about, opened.config.positions) if known else TextEmbedding()
    task = fitting(replace(task, **options), opened.config.positions, options)
    config, model = with_fresh_head(opened, task.head, outputs=0, pooling=task.pooling)
    device = next(opened.bert.parameters()).device
    return Learned(config, model.to(device).eval(), opened.tokenizer, task)


def rescale(model: BertWithHead, mean: float, scale: float) -> None:
    """Lets a regression that learned values of mean 0 and deviation 1 give them as they were."""
    classifier = model.head.classifier
    with torch.no_grad():
        classifier.weight *= scale  # type: ignore[operator, union-attr]
        classifier.bias *= scale  # type: ignore[operator, union-attr]
        classifier.bias += mean  # type: ignore[union-attr]


def class_names(learned: Learned) -> tuple[str, ...]:
    """The names of a classifier's classes, in the order of its outputs."""
    assert isinstance(learned.task, Classification), "a classifier"
    return learned.task.labels
