"""One pretraining against the clock, in a process of its own: ours as `unmask pretrain` runs it, or a plain
transformers script as people write it, with the same held-out questions on the way.

In: a `Course`, what is to be run. Out: a JSON file with the course and its points; the points as lines on stdout too.
Both sides keep to the clock in the same way, and it stands still while questions are answered.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import torch

from unmask.data import pairs
from unmask.data.store import Store
from unmask.files import write_text
from unmask.lab.bench_pretrain import LENGTH, ROWS, rows_of, their_collator, their_learning, their_model
from unmask.model.names import published_names, to_ours
from unmask.tasks.corpus import Corpus, hold_out
from unmask.tasks.pretraining import (
    SMALLEST_PLAN,
    PretrainingSettings,
    configure,
    examination,
    examine,
    new_learner,
    seconds_a_step,
)
from unmask.tasks.pretraining_run import PretrainingRun, Request
from unmask.training.loop import Part
from unmask.training.memory import give_back
from unmask.training.pace import Pace
from unmask.training.schedule import Schedule

EXAMINATIONS, FEWEST_SECONDS = 60, 5.0  # how many over a budget, and how far apart at least
PLAIN = PretrainingSettings()  # BERT's own: 15 % of pieces, 80/10/10, sentence pairs, dropout 0.1, warm-up of a tenth
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Course:
    """One run: whose, on what, how fast it learns and for how long."""

    side: str  # ours or theirs
    learning_rate: float
    store: str
    size: str
    budget: float  # seconds of training
    clock: str  # what the budget is counted on: wall, or cpu, which is fair to one thread on a busy machine
    threads: int
    seed: int
    core: int | None = None  # to stay on


@dataclass(frozen=True)
class Point:
    """Where a run stands: seconds of training, examinations not counted, and the held-out masked-word loss."""

    step: int
    tokens: int
    seconds: float  # on the budget's clock
    wall_seconds: float
    cpu_seconds: float
    loss: float  # nats


class Training(Protocol):
    """What both sides can do."""

    pace: Pace
    settings: dict[str, Any]  # by which it learns

    def guess(self) -> float:
        """About how many wall seconds a step takes."""

    def steps(self) -> Iterator[int]:
        """Takes the steps of the pace, which may change on the way; gives how many pieces each has learned from."""

    def loss(self, questions: list[Part]) -> float:
        """The masked-word loss on fixed questions, in nats."""


class Ours:
    """What `unmask pretrain` does, by its own code and preset; only the clock is kept from outside."""

    def __init__(self, course: Course, folder: Path) -> None:
        changes = {"learning_rate": course.learning_rate, "seed": course.seed, "held_out": PLAIN.held_out}
        request = Request([Path(course.store)], folder, size=course.size, changes=changes)
        self.pretraining = PretrainingRun(request).pretraining
        self.settings = asdict(self.pretraining.settings)
        self.pretraining.examination = []  # held from outside, while the clock stands

    @property
    def pace(self) -> Pace:
        """How far along each step is."""
        return self.pretraining.pace

    @pace.setter
    def pace(self, pace: Pace) -> None:
        self.pretraining.pace = pace

    def guess(self) -> float:
        """Measured with a few steps that change nothing."""
        return seconds_a_step(self.pretraining, at_least=0.5)

    def steps(self) -> Iterator[int]:
        """The loop, with its journal and checkpoints."""
        for standing in self.pretraining.steps():
            yield standing.step.tokens

    def loss(self, questions: list[Part]) -> float:
        """By the model as it stands."""
        return examine(self.pretraining.learner, questions)["mlm_loss"]


class Theirs:
    """A plain script: BertForPreTraining with sdpa, its collator, rows padded to the batch, torch's AdamW."""

    def __init__(self, course: Course, corpus: Corpus) -> None:
        torch.manual_seed(course.seed)
        self.course, self.tokenizer = course, corpus.tokenizer
        self.plan = pairs.plan(corpus.store, length=LENGTH, documents=corpus.training)
        self.config = configure(course.size, corpus.tokenizer, PLAIN)
        self.model = their_model(self.config).train()
        self.collate = their_collator(corpus.tokenizer, PLAIN.mask_rate)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=course.learning_rate)
        self.examined = new_learner(self.config, PLAIN)  # takes their weights for the examinations
        self.pace = Pace.of(1)
        fixed = {"optimiser": "torch.optim.AdamW", "dropout": PLAIN.dropout, "warmup": PLAIN.warmup, "rows": ROWS}
        self.settings = fixed | {"length": LENGTH, "learning_rate": course.learning_rate}

    def guess(self) -> float:
        """Measured with a few steps that change nothing."""
        started = time.perf_counter()
        for number in range(2):
            self.model(**self.collate(self._rows(number))).loss.backward()
            self.optimiser.zero_grad()
        return (time.perf_counter() - started) / 2

    def steps(self) -> Iterator[int]:
        """A step on fresh rows, the rate by the schedule, until the pace is at its end."""
        planned = self.pace.schedule_steps
        schedule = Schedule(self.course.learning_rate, planned, round(PLAIN.warmup * planned))
        number = 0
        while number < self.pace.steps:
            for group in self.optimiser.param_groups:
                group["lr"] = schedule(self.pace.scheduled(number))
            rows = self._rows(number)
            their_learning(self.model, self.optimiser, self.collate(rows))
            number += 1
            give_back(number)
            yield sum(len(row["input_ids"]) for row in rows)

    def loss(self, questions: list[Part]) -> float:
        """By our model with their weights: the same numbers in a fraction of the time and memory."""
        shapes = {name: tensor.shape for name, tensor in self.examined.model.state_dict().items()}
        names = published_names(self.config, "pretraining")
        state, _ = to_ours(self.model.state_dict(), shapes, names, "their model")
        self.examined.model.load_state_dict(state)
        return examine(self.examined, questions)["mlm_loss"]

    def _rows(self, step: int) -> list[dict[str, Any]]:
        return rows_of(pairs.draw(self.plan, self.tokenizer, seed=self.course.seed, step=step, rows=ROWS))


@dataclass
class Stopwatch:
    """Wall and processor seconds, counted while it goes.

    >>> watch = Stopwatch()
    >>> watch.go(); watch.stop(); sorted(watch.seconds)
    ['cpu', 'wall']
    """

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(CLOCKS, 0.0))
    began: dict[str, float] = field(default_factory=dict)

    def go(self) -> None:
        """Begins to count."""
        self.began = {name: clock() for name, clock in CLOCKS.items()}

    def stop(self) -> None:
        """Stands still until it goes again."""
        for name, clock in CLOCKS.items():
            self.seconds[name] += clock() - self.began[name]


def follow(
    training: Training, loss: Callable[[], float], *, budget: float, clock: str, watch: Stopwatch
) -> Iterator[Point]:
    """Trains for a budget and gives the points of its curve. How many steps fit is measured, and again on the way.

    The watch may have counted before: what a side does with the text before its first step belongs to its time.
    """
    spent, tokens = [watch.seconds[clock]], 0
    training.pace = Pace.of(max(SMALLEST_PLAN, int((budget - spent[0]) / _step_seconds(training, clock))))
    yield Point(0, 0, spent[0], watch.seconds["wall"], watch.seconds["cpu"], loss())
    watch.go()
    for number, learned in enumerate(training.steps(), 1):
        watch.stop()
        tokens += learned
        spent.append(watch.seconds[clock])
        if training.pace.is_check(number):
            training.pace = training.pace.again(number, steps_left(spent, budget))
        if is_due(spent, budget) or number == training.pace.steps:
            yield Point(number, tokens, spent[-1], watch.seconds["wall"], watch.seconds["cpu"], loss())
        watch.go()


def _step_seconds(training: Training, clock: str) -> float:
    """What a step takes on a clock: a guess in wall seconds, by the share of the processor that it got."""
    watch = Stopwatch()
    watch.go()
    guess = training.guess()
    watch.stop()
    return guess * watch.seconds[clock] / watch.seconds["wall"]


def steps_left(spent: list[float], budget: float) -> int:
    """How many steps still fit, by the speed of the latest ones.

    >>> steps_left([0.0, 1.0, 2.0, 3.0], budget=10.0)
    7
    """
    taken = len(spent) - 1
    latest = min(taken, max(10, taken // 4))
    return int((budget - spent[-1]) * latest / (spent[-1] - spent[-1 - latest]))


def is_due(spent: list[float], budget: float) -> bool:
    """Whether the latest step has passed one of the evenly spaced times of examination.

    >>> is_due([0.0, 19.0], budget=1200.0), is_due([0.0, 19.0, 21.0], budget=1200.0)
    (False, True)
    """
    every = max(budget / EXAMINATIONS, min(FEWEST_SECONDS, budget / 6))
    return int(spent[-1] / every) > int(spent[-2] / every)


def run(course: Course, path: Path) -> None:
    """Runs a course to its end and writes its file; this is what a process of its own does."""
    if course.core is not None:
        os.sched_setaffinity(0, {course.core})
    torch.set_num_threads(course.threads)
    store = Store.open(Path(course.store))
    corpus = Corpus(store, store.tokenizer(), *hold_out(store.document_count, PLAIN.held_out))
    questions = examination(corpus.store, corpus.held_out, corpus.tokenizer, PLAIN)
    points = []
    with TemporaryDirectory(dir=path.parent) as folder:
        watch = Stopwatch()
        watch.go()
        training: Training = Ours(course, Path(folder)) if course.side == "ours" else Theirs(course, corpus)
        watch.stop()
        loss = partial(training.loss, questions)
        for point in follow(training, loss, budget=course.budget, clock=course.clock, watch=watch):
            points.append(asdict(point))
            print(json.dumps(points[-1]), flush=True)
    whole = {"course": asdict(course), "settings": training.settings, "points": points}
    write_text(path, json.dumps(whole) + "\n")


def main() -> None:
    """The process's door: a course as JSON, and where its file goes."""
    run(Course(**json.loads(sys.argv[1])), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
