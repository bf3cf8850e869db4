"""Pretraining, from settings to a trained model folder: what a run is, its batches, its held-out figures, its resume.

In: tokenised text, a learner, settings. Out: the steps as they are taken, with figures on held-out text.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from unmask.data import pairs
from unmask.data.masking import Unit, mask
from unmask.data.pairs import Examples, Text
from unmask.data.ragged import Integers, sort_by_length
from unmask.data.word_marks import Words
from unmask.errors import InputError
from unmask.files import write_text
from unmask.model.config import BertConfig
from unmask.model.local_start import look_at_neighbours
from unmask.tasks.objectives import (
    PAIRED,
    Learner,
    PretrainingBatch,
    counts,
    is_causal,
    make_model,
    needs_pooler,
)
from unmask.tasks.parts import number_of_parts
from unmask.text.tokenizer import Tokenizer
from unmask.training.distributed import ALONE, Processes, wrap
from unmask.training.half_precision import AUTO, PRECISIONS
from unmask.training.loop import Part, Step, train
from unmask.training.optim import make_optimiser
from unmask.training.pace import Pace, passes_check, recent_step
from unmask.training.run import Figures, Run
from unmask.training.same_settings import SETTINGS
from unmask.training.scaling import LossScale
from unmask.training.schedule import Schedule

HELD_OUT_ROWS = 128  # sequences that every held-out figure is taken on
EXAMINED_RATE = 0.15  # of their words that are hidden, whatever a run hides: only so are figures of runs comparable
EVALUATIONS = 20  # how often during a run
FEWEST_BETWEEN = 25  # steps between evaluations, so that they take a small share of a short run too
LATELY = 0.1  # share of the time whose steps say how fast they are now
SMALLEST_PLAN = 100  # steps below which a budget is refused
FINE_TUNING_DROPOUT = 0.1  # what a model pretrained without dropout is saved with, as fine-tuning wants some


@dataclass(frozen=True)
class PretrainingSettings:
    """Everything that decides what a run becomes; saved beside the weights as `settings.json`."""

    size: str = "mini"  # of the model
    vocabulary: str = ""  # the hash of the vocabulary and its casing
    text: str = ""  # the hash of the tokenised text
    start: str = "fresh"  # where the weights start: fresh, or the hash of initial vectors, or another model
    steps: int = 10_000  # steps of the schedule
    objective: str = "mlm+nsp"  # what is learned
    lengths: tuple[int, ...] = (128,)  # pieces a sequence, phase by phase
    phases: tuple[float, ...] = (100.0,)  # per cent of the steps in each phase
    batch_tokens: int = 4096  # pieces a step, on all machines
    part_tokens: int = 4096  # pieces that go through the model at once, at most
    mask_rate: float = 0.15  # share of words that are asked for
    mask_mix: tuple[float, float, float] = (0.8, 0.1, 0.1)  # of these: masked, replaced by chance, left as they are
    mask_unit: Unit = "piece"  # what is masked as a whole: piece, word or span
    words: str | None = None  # the segmenter that says where Chinese words begin; none: every character is one
    context_weight: float = 0.1  # of the context-matching loss
    optimiser: str = "adamw"  # adamw, muon or lamb
    learning_rate: float = 1e-4  # at its peak
    warmup: float = 0.1  # share of the schedule until the peak
    shape: str = "linear"  # of the decay: linear, cosine or constant
    final_learning_rate: float = 0.0  # at the end
    betas: tuple[float, float] = (0.9, 0.999)  # how long gradients and their squares are remembered
    epsilon: float = 1e-6  # in Adam's denominator
    decay: float = 0.01  # of the weights, decoupled from the gradient
    clip: float = 1.0  # the largest norm of a step's gradient, 0 for any
    dropout: float = 0.1  # while training
    held_out: float = 0.02  # share of the documents that is kept for measuring
    precision: str = "float32"  # of the matrix products: float32, or bfloat16 or float16 where the device gains from it
    local_start: bool = False  # a fresh model's heads begin by looking at neighbours
    counted_start: bool = False  # a fresh model's words begin with what counting their neighbours finds
    recompute: bool = False  # keep only each layer's input: a third more work for a fraction of the memory
    compile: bool = False  # join the steps of each layer's feed-forward part: for GPUs
    seed: int = 0  # where chance starts

    def to_json(self) -> str:
        """The settings as a JSON object, a field a line."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "PretrainingSettings":
        """Settings from their JSON."""
        found = json.loads(text)
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}
        return cls(**values)

    def length_at(self, share: float) -> int:
        """The length of sequences when this share of the schedule is done.

        >>> settings = PretrainingSettings(lengths=(128, 512), phases=(90, 10))
        >>> settings.length_at(0.0), settings.length_at(0.95)
        (128, 512)
        """
        borders = np.cumsum(self.phases) / np.sum(self.phases)
        return self.lengths[min(int(np.searchsorted(borders, share, side="right")), len(self.lengths) - 1)]


# What differs from the settings' own defaults
PRESETS: dict[str, dict[str, Any]] = {
    # Devlin et al. (2018), section A.2: 256 sequences of 512 pieces, one million steps, 10,000 of them warm-up
    "paper": {
        "steps": 1_000_000,
        "warmup": 0.01,
        "learning_rate": 1e-4,
        "batch_tokens": 256 * 512,
        "lengths": (128, 512),
        "phases": (90.0, 10.0),
        "dropout": 0.1,
    },
    # Muon, small steps, many masks, a local and counted start, no dropout; how it was found:
    # benchmarks/records/2026-11-16_cpu_preset and 2026-11-16_counted_start
    "cpu": {
        "optimiser": "muon",
        "learning_rate": 1e-3,
        "dropout": 0.0,
        "betas": (0.9, 0.98),
        "batch_tokens": 2048,
        "warmup": 0.06,
        "mask_rate": 0.3,
        "local_start": True,
        "counted_start": True,
        "precision": AUTO,
    },
}


# What else differs where there is time: small steps at a high rate learn fast for minutes and then stand still. From
# 20 minutes on; 14 of 68 minutes like this reached 5.11 nats, 17 of 115 like above 5.57 (record of the counted start)
LONG_BUDGET = 20 * 60.0  # seconds
FOR_LONG: dict[str, dict[str, Any]] = {"cpu": {"batch_tokens": 4096, "learning_rate": 7e-4}}


def preset_for(name: str, budget: float | None) -> dict[str, Any]:
    """A preset's settings for a time in seconds, if there is a limit.

    >>> [preset_for("cpu", budget)["batch_tokens"] for budget in (None, 600.0, 3600.0)]
    [2048, 2048, 4096]
    """
    long = budget is not None and budget >= LONG_BUDGET
    return PRESETS[name] | (FOR_LONG.get(name, {}) if long else {})


class Batches:
    """The micro-batches of any step, drawn afresh from the text; the same whatever the number of processes."""

    def __init__(
        self,
        text: Text,
        documents: Integers,
        tokenizer: Tokenizer,
        settings: PretrainingSettings,
        *,
        words: Words | None = None,
        processes: Processes = ALONE,
    ) -> None:
        kind = drawn_as(settings.objective)
        self.plans = {
            length: pairs.plan(text, length=length, objective=kind, documents=documents, words=words)
            for length in settings.lengths
        }
        self.tokenizer, self.settings = tokenizer, settings
        self.rank, self.world = processes.rank, processes.world

    def parts(self, step: int, length: int) -> list[Part]:
        """This process's micro-batches of a step."""
        rows = max(1, self.settings.batch_tokens // length)
        number = number_of_parts(rows, length, self.settings.part_tokens, self.world)
        return [self.part(step, length, rows, place, number) for place in range(self.rank, number, self.world)]

    def part(self, step: int, length: int, rows: int, place: int, number: int) -> Part:
        """One micro-batch: the `place`-th of `number` equal shares of a step's sequences."""
        plan, settings = self.plans[length], self.settings
        examples = pairs.draw(plan, self.tokenizer, seed=settings.seed, step=step, rows=rows, rank=place, world=number)
        batch = self.ask(examples)
        return Part(place, batch, len(batch.ragged.ids), counts(batch, settings.objective))

    def ask(self, examples: Examples) -> PretrainingBatch:
        """Hides words and asks for them; or, left to right, asks for each next word."""
        settings = self.settings
        if settings.objective == "clm":
            return next_words(examples)
        masked = mask(
            examples,
            self.tokenizer,
            rate=settings.mask_rate,
            mix=settings.mask_mix,
            unit=settings.mask_unit,
        )
        return assemble(examples, masked.ids, masked.positions, masked.targets)


def drawn_as(objective: str) -> pairs.Objective:
    """How the sequences of an objective are drawn from the text."""
    return next((kind for name, kind in PAIRED.items() if name in objective.split("+")), "full")


def next_words(examples: Examples) -> PretrainingBatch:
    """Every token but a sequence's last is asked what comes next."""
    ends = np.cumsum(examples.lengths) - 1
    positions = np.setdiff1d(np.arange(len(examples.ids)), ends)
    return assemble(examples, examples.ids, positions, examples.ids[positions + 1])


def assemble(examples: Examples, ids: Integers, positions: Integers, targets: Integers) -> PretrainingBatch:
    """Sorts the sequences by length and moves what is asked of them along."""
    ragged, places = sort_by_length(ids, examples.segments, examples.lengths)
    moved = np.empty_like(places)
    moved[places] = np.arange(len(places))
    at = moved[positions]
    order = np.argsort(at)
    return PretrainingBatch(ragged, at[order], targets[order], examples.labels[ragged.order])


@dataclass(frozen=True)
class Standing:
    """Where a run stands after a step."""

    step: Step
    held_out: Figures | None  # figures on held-out text, where they were just taken
    pace: Pace
    tokens_per_second: float  # lately


class Source(Protocol):
    """Where a run's steps come from."""

    def parts(self, step: int, length: int) -> Sequence[Part]:
        """The micro-batches of a step."""


class Pretraining:
    """A run in its folder: made from settings, resumed if it has begun, then followed to its end."""

    def __init__(
        self,
        folder: Path,
        learner: nn.Module,
        batches: Source,
        examination: list[Part],
        settings: PretrainingSettings,
        *,
        save_every: float = 60.0,
        processes: Processes = ALONE,
        shard: bool = False,
    ) -> None:
        self.learner, self.batches, self.examination, self.settings = learner, batches, examination, settings
        self.processes, self.engine = processes, wrap(learner, processes, shard=shard)
        self.optimiser = make_optimiser(
            settings.optimiser,
            learner,
            decay=settings.decay,
            betas=settings.betas,
            epsilon=settings.epsilon,
            precision=PRECISIONS[settings.precision],
        )
        self.run = Run(
            folder,
            learner,
            self.optimiser,
            save_every=save_every,
            writes=processes.rank == 0,
            gather=processes.gather,
            scale=LossScale.of(PRECISIONS[settings.precision]),
        )
        self.pace = Pace.of(settings.steps)

    @property
    def pace_path(self) -> Path:
        """Where the pace is kept for a later sitting."""
        return self.run.folder / "pace.json"

    def resume(self, note: Callable[[str], None] = lambda _: None) -> None:
        """Takes up an earlier sitting, if there was one; the settings must be the same."""
        self.run.resume(note)
        self._check_together()
        if self.pace_path.exists():
            self.pace = Pace.load(self.pace_path)

    def steps(
        self, *, deadline: float | None = None, ending: float = 0.0, stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Standing]:
        """Takes the steps that are left.

        With a deadline (in seconds of training) the pace is kept to the clock; `ending` is how much has to be done
        after the last step until then, in steps: on a machine that became slower it takes longer, too.
        """
        schedule = Schedule(
            self.settings.learning_rate,
            self.pace.schedule_steps,
            round(self.settings.warmup * self.pace.schedule_steps),
            self.settings.shape,
            self.settings.final_learning_rate,
        )
        taken = self.taken(
            self._numbers(),
            lambda step: schedule(self.pace.scheduled(step)),
            lambda step: self.settings.length_at(self.pace.share(step)),
            self.run.scale,
        )
        before = self.run.spent
        for step, held_out in self.run.follow(taken, evaluate=self._examine, stop=stop):
            if deadline is not None and self._is_check(step.number, before / deadline, self.run.spent / deadline):
                self._keep_to_the_clock(step.number, deadline, ending)
            before = self.run.spent
            yield Standing(step, held_out, self.pace, self.run.lately)

    def taken(
        self, numbers: Iterable[int], rate: Callable[[int], float], length: Callable[[int], int], scale: LossScale
    ) -> Iterator[Step]:
        """The loop over steps of these numbers, at a learning rate and a length for each."""
        return train(
            self.engine,
            lambda step: self.batches.parts(step, length(step)),
            self.optimiser,
            rate,
            steps=numbers,
            seed=self.settings.seed,
            clip=self.settings.clip,
            dropout=self.settings.dropout > 0,
            gather=self.processes.gather,
            world=self.processes.world,
            precision=PRECISIONS[self.settings.precision],
            scale=scale,
        )

    def _numbers(self) -> Iterator[int]:
        number = self.run.step
        while number < self.pace.steps:
            yield number
            number += 1

    def _is_check(self, step: int, before: float, after: float) -> bool:
        """Whether the speed is measured again: by the schedule, and by the clock, in case the machine became slower."""
        return self.processes.agree(self.pace.is_check(step) or passes_check(before, after))

    def _keep_to_the_clock(self, step: int, deadline: float, ending: float) -> None:
        """Plans the rest anew from the speed so far, the latest steps counting most."""
        if self.run.writes:
            each = recent_step([event["seconds"] for event in self.run.speed.events()], within=deadline * LATELY)
            remaining = round((deadline - self.run.spent) / each - ending)
            self.pace = self.pace.again(step, remaining)
            self.pace.save(self.pace_path)
        self.pace = self.processes.agree(self.pace)

    def _check_together(self) -> None:
        """All processes must have found the same checkpoint, or none."""
        step = self.processes.agree(self.run.step)
        if self.processes.gather({"elsewhere": float(step != self.run.step)})["elsewhere"]:
            raise InputError(
                f"{self.run.folder}, where the processes do not all find the checkpoint of step {step}",
                wanted="one folder that every machine sees",
                do="put the run on a shared file system",
            )

    def _examine(self, step: int) -> Figures | None:
        due = max(FEWEST_BETWEEN, self.pace.steps // EVALUATIONS)
        if not self.examination or not (step % due == 0 or step == self.pace.steps):
            return None
        return examine(self.learner, self.examination)


def examination(
    text: Text, documents: Integers, tokenizer: Tokenizer, settings: PretrainingSettings, words: Words | None = None
) -> list[Part]:
    """The fixed questions that held-out figures are taken on: the same sequences and masks for every seed and rate."""
    length, rows = settings.lengths[0], HELD_OUT_ROWS * settings.lengths[0]
    fixed = replace(settings, batch_tokens=rows, lengths=(length,), phases=(100.0,), mask_rate=EXAMINED_RATE, seed=0)
    return Batches(text, documents, tokenizer, fixed, words=words).parts(0, length)


def examine(learner: nn.Module, parts: list[Part]) -> Figures:
    """Losses and accuracies on fixed questions, averaged over their labels."""
    learner.eval()
    totals: dict[str, float] = {}
    with torch.no_grad():  # sharded weights that were gathered in inference mode could not be learned again
        for part in parts:
            losses, figures = learner(part.batch, None)
            named = {f"{name}_loss": value for name, value in losses.items()} | figures
            for name, value in named.items():
                totals[name] = totals.get(name, 0.0) + float(value)
    learner.train()
    asked = {name: sum(part.counts[name] for part in parts) for name in parts[0].counts}
    return {name: value / asked[name.rsplit("_", 1)[0]] for name, value in totals.items()}


def seconds_a_step(pretraining: Pretraining, *, at_least: float = 2.0) -> float:
    """How long a step of the loop takes here: taken at a learning rate of zero, so that nothing is learned."""
    before, scale = deepcopy(pretraining.optimiser.state_dict()), deepcopy(pretraining.run.scale)
    first = pretraining.settings.lengths[0]
    taken: list[float] = []
    steps = pretraining.taken(count(), lambda _: 0.0, lambda _: first, scale)
    while len(taken) < 3 or pretraining.processes.agree(sum(taken)) < at_least:
        started = time.monotonic()
        next(steps)
        taken.append(time.monotonic() - started)
    pretraining.optimiser.load_state_dict(before)
    return pretraining.processes.agree(float(np.median(taken[1:])))


def steps_in(seconds: float, step_seconds: float) -> int:
    """How many steps fit; a budget that is too short for a schedule is refused.

    >>> steps_in(60, 0.1)
    600
    """
    steps = int(seconds / step_seconds)
    if steps < SMALLEST_PLAN:
        raise InputError(
            f"a budget with {seconds:.0f} s for training, {steps} steps of {step_seconds:.2f} s",
            wanted=f"at least {SMALLEST_PLAN} steps",
            do="give more time, a smaller --size or fewer --batch-tokens",
        )
    return steps


def unigram_loss(text: Text, vocabulary_size: int) -> float:
    """The loss of a model that knows only how frequent each piece is: the entropy of the text's pieces, in nats."""
    return entropy(piece_counts(text, vocabulary_size))


def piece_counts(text: Text, vocabulary_size: int) -> Integers:
    """How often each piece occurs in a text."""  # (V,)
    end, block = int(text.sentence_tokens[-1]), 1 << 24  # in blocks, so that memory does not grow with the text
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for start in range(0, end, block):
        counts += np.bincount(text.tokens(start, min(start + block, end)), minlength=vocabulary_size)
    return counts


def entropy(counts: Integers) -> float:
    """The entropy of a distribution given by counts, in nats.

    >>> round(entropy(np.array([1, 1, 0])), 4)
    0.6931
    """
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def configure(size: str, tokenizer: Tokenizer, settings: PretrainingSettings) -> BertConfig:
    """The shape of the encoder that a run trains."""
    return BertConfig.named(
        size,
        vocabulary_size=tokenizer.size,
        positions=max(512, *settings.lengths),
        dropout=settings.dropout or FINE_TUNING_DROPOUT,
        attention_dropout=settings.dropout or FINE_TUNING_DROPOUT,
        pooler=needs_pooler(settings.objective),
        causal=is_causal(settings.objective),
    )


def begin(folder: Path, settings: PretrainingSettings) -> None:
    """Writes down what the run is, before its first step."""
    write_text(folder / SETTINGS, settings.to_json())


def new_learner(config: BertConfig, settings: PretrainingSettings) -> Learner:
    """A fresh model with its objectives."""
    model = make_model(config, settings.objective, settings.seed)
    if settings.local_start:
        look_at_neighbours(model.bert, settings.seed)
    model.bert.recompute = settings.recompute
    if settings.compile:
        for layer in model.bert.layers:  # not the whole layer: attention's stacks are others in every batch
            layer.feed_forward = torch.compile(layer.feed_forward, dynamic=True)  # type: ignore[method-assign]
    return Learner(model, settings.objective, settings.context_weight, settings.seed)
