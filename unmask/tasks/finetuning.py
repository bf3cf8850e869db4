"""Fine-tuning: a task, a pretrained model and examples in, a model that answers out, through the one loop.

A step is a pure function of weights, optimiser state, seed and number, so an interrupted fine-tuning resumes exactly.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unmask.data.chance import generator
from unmask.data.rows import Row
from unmask.files import atomic_path
from unmask.model.dropout import Chance
from unmask.model.feature_cache import CachedFeatures, Report, with_cache
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.adaptation import adapted_groups, adversarial, freeze
from unmask.tasks.pieces_in_use import PiecesInUse
from unmask.tasks.task import Floats, Losses, Task, TaskBatch, make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.training.half_precision import PRECISIONS
from unmask.training.loop import Part, Step, train
from unmask.training.optim import make_optimiser
from unmask.training.run import Figures, Run
from unmask.training.scaling import LossScale
from unmask.training.schedule import Schedule

PART_TOKENS = 4096  # pieces that go through the model at once; more gains nothing on a CPU
PUBLISHED_SEGMENTS = 2  # those that encoders are pretrained with
PUBLISHED_WIDTH = 768  # of the models that recipes are for
NARROWER = 1.5  # the power of the width by which narrower models take larger steps
FEATURE_RECIPE = {"epochs": 10.0, "learning_rate": 1e-3}  # a fresh head alone: large steps, and epochs cost little
FROZEN_RECIPE = {"learning_rate": 1e-3}  # the same, where every epoch asks the encoder again


@dataclass(frozen=True)
class FineTuningSettings:
    """Everything that decides what a fine-tuning becomes; saved beside the weights as `settings.json`."""

    task: str = ""  # the task or preset
    model: str = ""  # the hash of the weights that it starts from
    data: str = ""  # the hash of the examples
    epochs: float = 3.0
    batch_size: int = 32  # examples a step
    learning_rate: float = 5e-5  # at its peak
    warmup: float = 0.1  # share of the steps until the peak
    shape: str = "linear"  # of the decay: linear, cosine or constant
    decay: float = 0.01  # of the weights, decoupled from the gradient
    clip: float = 1.0  # the largest norm of a step's gradient, 0 for any
    dropout: float = 0.1
    patience: int = 0  # evaluations without gain after which it ends; 0: never early
    evaluations: float = 1.0  # an epoch
    positions: int | None = None  # more than the model has, interpolated
    fresh_layers: int = 0  # top layers that start anew
    mean_start: bool = False  # a further layer begins as the mean of all tokens
    freeze: str = ""  # "2": the embeddings and the first two layers do not learn; "all": nothing of the encoder does
    layer_decay: float = 1.0  # what the learning rate is multiplied by with every layer below the head
    precision: str = "float32"  # of products while it learns: bfloat16 or float16 where the device gains from it
    adversarial: float = 0.0  # how far word embeddings are moved against the model (FGM); 0: not at all
    features: str = ""  # the layers of a frozen encoder that the head reads; nothing: the encoder learns as well
    reader: str = "bilstm"  # of features: bilstm or linear
    thawed: bool = False  # with features: the encoder under the reader learns as well
    seed: int = 0

    @property
    def read(self) -> dict[str, str]:
        """What a head reads of a frozen encoder, as a model folder says it; nothing where the encoder learns."""
        return {"layers": self.features, "reader": self.reader} if self.features else {}

    def to_json(self) -> str:
        """The settings as a JSON object, a field a line."""
        return json.dumps(asdict(self), indent=2) + "\n"


def fitting_rate(published: float, width: int) -> float:
    """The learning rate of a recipe for a model of this width: narrower ones learn too slowly with BASE's.

    >>> fitting_rate(5e-5, 1024), fitting_rate(5e-5, 768), fitting_rate(5e-5, 384), fitting_rate(5e-5, 256)
    (5e-05, 5e-05, 0.00014, 0.00026)
    """
    return float(f"{published * max(1.0, PUBLISHED_WIDTH / width) ** NARROWER:.2g}")


class TaskLearner(nn.Module):
    """A model with its task: what the loop trains."""

    def __init__(self, model: BertWithHead | CachedFeatures, task: Task) -> None:
        super().__init__()
        self.model, self.task = model, task

    def forward(self, batch: TaskBatch, chance: Chance | None) -> Losses:
        """Each loss of the task, summed over its labels, and its figures."""
        outputs: Tensor = self.model.learn(batch.ragged, chance)
        return self.task.losses(outputs, batch)


MakeLearner = Callable[[BertWithHead | CachedFeatures, Task], nn.Module]


class ExampleBatches:
    """The micro-batches of any step: every epoch is a shuffle of all examples, drawn from seed and epoch alone."""

    def __init__(self, rows: Sequence[Row], task: Task, *, batch_size: int, seed: int = 0) -> None:
        self.task, self.batch_size, self.seed = task, batch_size, seed
        self.units = units(rows, together=task.together)

    @property
    def steps_an_epoch(self) -> int:
        """Steps until every example was seen once; the last may be smaller."""
        return -(-len(self.units) // self.batch_size)

    def examples_until(self, step: int) -> int:
        """How many examples, or rows that are learned alone, were seen in so many steps."""
        epochs, rest = divmod(step, self.steps_an_epoch)
        return epochs * len(self.units) + rest * self.batch_size

    def chosen(self, step: int) -> list[list[Row]]:
        """The rows of a step, those of a unit together."""
        epoch, place = divmod(step, self.steps_an_epoch)
        order = generator(self.seed, epoch).permutation(len(self.units))
        return [self.units[i] for i in order[place * self.batch_size :][: self.batch_size]]

    def parts(self, step: int) -> list[Part]:
        """The micro-batches of a step."""
        tokens = math.inf if self.task.whole_step else PART_TOKENS
        return [self._part(number, rows) for number, rows in enumerate(divided(self.chosen(step), tokens))]

    def _part(self, number: int, rows: list[Row]) -> Part:
        batch = make_batch(rows, self.task.per_token)
        return Part(number, batch, len(batch.ragged.ids), self.task.counts(batch))


def units(rows: Sequence[Row], *, together: bool) -> list[list[Row]]:
    """What is never divided among batches: single rows, or all rows of an example.

    >>> rows = [Row([2], [0], 0), Row([3], [0], 0), Row([4], [0], 1)]
    >>> [len(unit) for unit in units(rows, together=True)]
    [2, 1]
    """
    if not together:
        return [[row] for row in rows]
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.example, []).append(row)
    return list(found.values())


def divided(chosen: Sequence[list[Row]], tokens: float) -> list[list[Row]]:
    """A step's units as micro-batches of at most `tokens` pieces, or of one unit."""
    parts: list[list[Row]] = [[]]
    held = 0
    for unit in chosen:
        size = sum(len(row.ids) for row in unit)
        if parts[-1] and held + size > tokens:
            parts.append([])
            held = 0
        parts[-1] += unit
        held += size
    return parts


@dataclass(frozen=True)
class Standing:
    """Where a fine-tuning stands after a step."""

    step: Step
    steps: int  # in all
    epoch: float  # how much of the training examples was seen
    scores: Figures | None  # on the dev examples, where they were just taken


class FineTuning:
    """A fine-tuning in a folder, followed to its end; the weights of the best evaluation are kept."""

    def __init__(
        self,
        folder: Path,
        task: Task,
        model: BertWithHead,
        tokenizer: Tokenizer,
        training: Sequence[Any],
        dev: Sequence[Any],
        settings: FineTuningSettings,
        *,
        save_every: float = 60.0,
        features_folder: Path | None = None,  # of other runs too; if none, this run removes its features at its end
        report: Report = lambda *_: None,  # told while features are computed: tokens done, tokens in all
        make_learner: MakeLearner = TaskLearner,  # another than the task's own losses: a student's
    ) -> None:
        self.task, self.model, self.dev, self.settings = task, model, dev, settings
        rows = task.rows(training, tokenizer)
        self.dev_rows = task.rows(dev, tokenizer)
        self.cached = (
            with_cache(model, features_folder or folder, [*rows, *self.dev_rows], report)
            if model.reads_layers and not settings.thawed
            else None
        )
        self.removes_features = features_folder is None
        self.learned = self.cached or model  # features are computed once: then the head alone is read and learns
        freeze(model, settings.freeze)
        if task.segments > PUBLISHED_SEGMENTS:
            model.bert.embeddings.segments.requires_grad_(True)  # the marks are new
        self.rows = rows
        # a learner of another kind may ask a teacher, who knows pieces by their usual numbers
        self.learns_words = (
            self.cached is None and make_learner is TaskLearner and model.bert.embeddings.words.weight.requires_grad
        )
        self.pieces: PiecesInUse | None = None  # while it learns
        self.batches = ExampleBatches(rows, task, batch_size=settings.batch_size, seed=settings.seed)
        self.learner = adversarial(make_learner(self.learned, task), model, settings.adversarial)
        self.steps = max(1, round(settings.epochs * self.batches.steps_an_epoch))
        groups = adapted_groups(self.learner, settings.decay, settings.layer_decay)
        self.optimiser = make_optimiser("adamw", self.learner, groups=groups)
        self.precision = PRECISIONS[settings.precision]
        scale = LossScale.of(self.precision)
        self.run = Run(folder, self.learner, self.optimiser, save_every=save_every, scale=scale)
        self.seen: list[float] = []  # the metric of every evaluation so far
        self.best: list[Floats] | None = None  # what the best evaluation said of each dev row, if it is of this sitting

    @property
    def best_path(self) -> Path:
        """Where the weights of the best evaluation so far are."""
        return self.run.folder / "best.safetensors"

    def resume(self, note: Callable[[str], None] = lambda _: None) -> None:
        """Takes up an earlier sitting, if there was one."""
        self._begin()
        self.run.resume(note)
        events = [event["held_out"] for event in self.run.journal.events() if "held_out" in event]
        self.seen = [event[self.task.metric] for event in events]

    def train(self, *, stop: Callable[[], bool] = lambda: False) -> Iterator[Standing]:
        """Takes the steps that are left; afterwards the model has the weights of the best evaluation."""
        self._begin()
        settings = self.settings
        schedule = Schedule(settings.learning_rate, self.steps, round(settings.warmup * self.steps), settings.shape)
        taken = train(
            self.learner,
            self.batches.parts,
            self.optimiser,
            schedule,
            steps=self._numbers(),
            seed=settings.seed,
            clip=settings.clip,
            dropout=settings.dropout > 0,
            precision=self.precision,
            scale=self.run.scale,
        )
        for step, scores in self.run.follow(taken, evaluate=partial(self._evaluate, stop=stop), stop=stop):
            yield Standing(step, self.steps, step.number / self.batches.steps_an_epoch, scores)
        if self.best_path.exists():
            self.learned.load_state_dict(load_file(self.best_path))
        if self.pieces is not None:
            self.pieces.put_back()
            self.pieces, self.learns_words = None, False
        self.model.eval()
        if self.cached is not None and self.removes_features:
            self.cached.cache.remove()

    def _begin(self) -> None:
        """From now on the model holds the pieces of its examples alone, until it has learned."""
        if self.learns_words and self.pieces is None:
            self.pieces = PiecesInUse(self.model.bert.embeddings.words, [*self.rows, *self.dev_rows])
            self.batches.units = units(self._in_use(self.rows), together=self.task.together)

    def _in_use(self, rows: Sequence[Row]) -> Sequence[Row]:
        return rows if self.pieces is None else self.pieces.rows(rows)

    def _numbers(self) -> Iterator[int]:
        number = self.run.step
        while number < self.steps and not self._gave_up():
            yield number
            number += 1

    def _gave_up(self) -> bool:
        """Whether the last evaluations, as many as patience has, were none better than those before."""
        patience = self.settings.patience
        return bool(patience) and len(self.seen) - 1 - int(np.argmax(self.seen or [0.0])) >= patience

    def outputs(self, stop: Callable[[], bool] = lambda: False) -> list[Floats]:
        """What the best weights say of the dev rows, once all steps are taken; what is known is not computed again."""
        return self.best or outputs_of(self.model, self.dev_rows, report=stopping(stop))

    def _evaluate(self, step: int, *, stop: Callable[[], bool]) -> Figures | None:
        due = max(1, round(self.batches.steps_an_epoch / self.settings.evaluations))
        if not self.dev or not (step % due == 0 or step == self.steps):
            return None
        outputs = outputs_of(self.learned, self._in_use(self.dev_rows), report=stopping(stop))
        self.learned.train()
        scores = self.task.scores(self.dev, self.task.answers(self.dev, self.dev_rows, outputs))
        self.seen.append(scores[self.task.metric])
        if self.seen[-1] >= max(self.seen[:-1], default=-math.inf):  # of equals the one that learned longer
            self.best = outputs if self.cached is None else None  # features that were stored may be rounded
            with atomic_path(self.best_path) as temporary:
                save_file({name: value.contiguous() for name, value in self.learned.state_dict().items()}, temporary)
        return scores


def stopping(stop: Callable[[], bool]) -> Report:
    """A report of an evaluation that ends it where it is if that is asked for: nothing of it would be kept."""

    def report(*_: int) -> None:
        if stop():
            raise KeyboardInterrupt

    return report
