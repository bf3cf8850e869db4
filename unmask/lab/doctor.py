"""What is wrong with a pretraining run, finished or not: its folder comes in, findings and figures go out.

The journal says how it went, the store what it learned from, the checkpoints whether it can go on. Losses are compared
with the unigram entropy, the line on which a model sits that has learned how frequent words are and nothing else.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.store import DESCRIPTION, Store
from unmask.errors import InputError
from unmask.lab.corpus_doctor import StoreFigures, diagnose_store, measure_store
from unmask.lab.finding import Finding
from unmask.tasks.objectives import PAIRED
from unmask.tasks.pretraining import PretrainingSettings
from unmask.training import checkpoint
from unmask.training.curve import smooth
from unmask.training.journal import Journal
from unmask.training.pace import Pace

Floats = NDArray[np.float64]

SMOOTHED = 50  # steps that a loss is averaged over: some 25,000 masked words at 4,096 pieces a step, ± 0.02 nats
LEARNING = 100  # steps after the warm-up before anything is said about learning
# Held-out losses are means over some 2,400 masked words with a deviation of 3 nats each: ± 0.06. Twice that is no
# chance any more.
MARGIN = 0.15  # nats
STUCK_SHARE = 0.3  # of the steps on the entropy line: a run that learns is through within a few hundredths
RISEN = 0.5  # nats above the best so far: no noise of any batch size does that to a mean of SMOOTHED steps
SPIKE_DEVIATIONS, SPIKE = 8.0, 1.0  # robust deviations, and nats, above the median of the steps before
MOST_SPIKES = 3  # one is an unlucky batch
SPIKES_IN = 50_000  # last steps that are looked at for spikes: 40 MB
EXPLODED = 30.0  # times the usual gradient norm
GROWN = 3.0  # times the gradient norm of the first half, while the loss stays
CLIPPED = 0.9  # share of clipped steps; alone it is harmless, as Adam does not mind the scale
LOW_RATE = 2e-5  # a peak at which BERT is fine-tuned, not pretrained
STILL_FALLING = 0.5  # nats in the last fifth: as much again was there for the asking
LOOKED_AT = 400  # sentence pairs: an accuracy over them is ± 2.5 %
CHANCE, EASY = 0.55, 0.97  # next-sentence accuracies: two deviations above guessing; nothing left to learn
EARLY = 0.15  # share of the steps in which it should not be easy yet
OVERFITTED = 0.1  # nats that the held-out loss has risen from its best while the training loss fell


@dataclass(frozen=True)
class RunRecord:
    """All that a run's folder says."""

    folder: Path
    settings: PretrainingSettings
    events: Sequence[dict[str, Any]]  # of the journal, at least one
    planned: int  # steps
    damaged: Sequence[str]  # what was said of checkpoints
    store: StoreFigures | None  # of its text, where it was found
    line: float | None  # the unigram entropy, where it is known
    other_store: bool = False  # the store is not the one that the run was begun with

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.events)

    @property
    def finished(self) -> bool:
        """Whether the schedule is at its end."""
        return self.steps >= self.planned

    @property
    def loss_name(self) -> str:
        """The loss that is compared with the entropy line."""
        return f"{self.settings.objective.split('+')[0]}_loss"

    @property
    def warm(self) -> int:
        """The steps of the warm-up."""
        return min(round(self.settings.warmup * self.planned), self.steps)

    @cached_property
    def losses(self) -> Floats:
        """The masked-word loss of each step."""
        return self.figure(self.loss_name)

    @cached_property
    def smoothed(self) -> Floats:
        """The same, averaged over the last steps at each point; the first, which average over too few, left out."""
        return smooth(self.losses.tolist(), SMOOTHED)[min(SMOOTHED, self.steps) - 1 :]

    @cached_property
    def held_out(self) -> tuple[list[int], Floats]:
        """Steps at which the loss on held-out text was taken, and its values."""
        taken = [(e["step"], e["held_out"][self.loss_name]) for e in self.events if "held_out" in e]
        return [step for step, _ in taken], np.array([value for _, value in taken])

    def figure(self, name: str) -> Floats:
        """A figure of each step."""
        return np.array([event[name] for event in self.events], dtype=np.float64)


def read_run(folder: Path, store_folder: Path | None = None) -> RunRecord:
    """Reads a run's folder; its store is looked for in it unless it is named."""
    events = list(Journal(folder / "run.jsonl").events())
    if not events:
        raise InputError(f"{folder} with an empty run.jsonl", wanted="a run of one step at least")
    settings = _settings(folder / "settings.json")
    pace = folder / "pace.json"
    damaged: list[str] = []
    checkpoint.latest(folder / "checkpoints", damaged.append)
    place = store_folder or folder / "store"
    found = Store.open(place) if store_folder or (place / DESCRIPTION).is_file() else None
    figures = None if found is None else measure_store(found)
    return RunRecord(
        folder=folder,
        settings=settings,
        events=events,
        planned=Pace.load(pace).steps if pace.exists() else settings.steps,
        damaged=damaged,
        store=figures,
        line=figures.unigram_loss if figures else _saved_line(folder),
        other_store=found is not None and _store_hash(found) != settings.text,
    )


def diagnose_run(run: RunRecord) -> Iterator[Finding]:
    """What is wrong with a run."""
    for check in CHECKS:
        yield from check(run)


def unfinished(run: RunRecord) -> Iterator[Finding]:
    """The schedule has steps left."""
    if not run.finished:
        seen = f"step {run.steps:,} of {run.planned:,}"
        yield Finding("unfinished", "hint", seen, "run the same command again to go on, unless it is running now")


def damaged_checkpoints(run: RunRecord) -> Iterator[Finding]:
    """A checkpoint does not match its checksum."""
    for said in run.damaged:
        do = "resuming falls back by itself; check the disk"
        yield Finding("damaged checkpoint", "warning", said, do)


def stuck(run: RunRecord) -> Iterator[Finding]:
    """The loss has stayed on the entropy line."""
    if run.line is None or run.steps - run.warm < LEARNING:
        return
    distances = np.abs(run.smoothed - run.line)
    away = np.flatnonzero(distances > MARGIN)
    on_line = len(distances) if len(away) == 0 else len(distances) - 1 - int(away[-1])
    if on_line >= max(LEARNING, STUCK_SHARE * run.steps):
        seen = f"{run.loss_name} {run.smoothed[-1]:.2f}, on the unigram entropy {run.line:.2f} for {on_line:,} steps"
        do = "only word frequencies were learned: train longer, change the learning rate, or take smaller batches"
        yield Finding("stuck on the entropy line", "error", seen, do)


def little_context(run: RunRecord) -> Iterator[Finding]:
    """The loss went below the entropy line, but not below what copying visible words explains."""
    if run.line is None or not run.finished or run.steps - run.warm < LEARNING:
        return
    floor = context_free_loss(run.line, run.settings)
    if floor < (lowest := float(run.smoothed.min())) <= run.line - MARGIN:
        seen = (
            f"{run.loss_name} {lowest:.2f} at best; word frequencies and copying the words that masking left visible "
            f"reach {floor:.2f}"
        )
        yield Finding("little context", "warning", seen, "take more --steps or --budget: context is learned next")


def context_free_loss(line: float, settings: PretrainingSettings) -> float:
    """The loss of a model that knows word frequencies, and that a visible word may be the word asked for.

    Of the words asked for some are masked, some replaced by chance and some kept. At a masked one it loses the entropy;
    at a visible one it first has to guess whether it was kept.

    >>> round(context_free_loss(7.0, PretrainingSettings(mask_mix=(0.8, 0.1, 0.1))), 3)
    6.439
    """
    masked, replaced, kept = settings.mask_mix
    if settings.objective == "clm" or not kept:
        return line
    shares = np.array([share for share in (replaced, kept) if share]) / (replaced + kept)
    guess = float(-(shares * np.log(shares)).sum())
    return (masked + replaced) * line + (replaced + kept) * guess


def diverged(run: RunRecord) -> Iterator[Finding]:
    """The loss has risen and stayed up."""
    best = int(run.smoothed.argmin())
    risen = float(run.smoothed[-1] - run.smoothed[best])
    if risen > RISEN:
        step = run.steps - len(run.smoothed) + best + 1
        seen = f"{run.loss_name} rose from {run.smoothed[best]:.2f} at step {step:,} to {run.smoothed[-1]:.2f}"
        yield Finding("diverged", "error", seen, "lower --lr, lengthen --warmup or lower --clip, in a new folder")


def unstable(run: RunRecord) -> Iterator[Finding]:
    """Losses or gradients jump."""
    if len(spikes := _spikes(run.losses)) >= MOST_SPIKES:
        seen = f"{len(spikes)} spikes of the loss, the last at step {spikes[-1] + 1:,}"
        yield Finding("unstable", "warning", seen, "lower --lr, lengthen --warmup, or take larger batches")
    norms = run.figure("gradient_norm")
    usual = float(np.median(norms))
    # the first steps of a fresh model have large gradients
    late = norms[run.warm :]
    if len(late) and late.max() > EXPLODED * usual:
        seen = f"gradient norm {late.max():.1f} at step {run.warm + int(late.argmax()) + 1:,}, usually {usual:.2f}"
        yield Finding("exploding gradients", "warning", seen, "keep --clip 1, lower --lr or lengthen --warmup")


def rate_too_high(run: RunRecord) -> Iterator[Finding]:
    """Gradients grow, or are all clipped, and the loss does not fall."""
    norms, losses = run.figure("gradient_norm")[run.warm :], run.losses[run.warm :]
    if len(norms) < LEARNING:
        return
    half = len(norms) // 2
    growth = float(np.median(norms[half:]) / max(np.median(norms[:half]), 1e-12))
    fall = float(losses[:half].mean() - losses[half:].mean())
    clipped = float(np.mean(norms > run.settings.clip)) if run.settings.clip else 0.0
    above = run.line is not None and run.smoothed[-1] > run.line - MARGIN
    if fall < MARGIN / 3 and (growth > GROWN or (clipped > CLIPPED and above)):
        seen = (
            f"gradient norm × {growth:.1f} from the first half to the second, {clipped:.0%} of the steps clipped, "
            f"loss {-fall:+.2f}, learning rate {run.settings.learning_rate:g}"
        )
        yield Finding("learning rate too high", "error", seen, f"try --lr {run.settings.learning_rate / 3:.1g}")


def too_short(run: RunRecord) -> Iterator[Finding]:
    """The schedule ended while there was much to learn."""
    if not run.finished:
        return
    rate = run.settings.learning_rate
    if run.line is not None and run.smoothed[-1] > run.line + MARGIN:
        seen = f"{run.loss_name} {run.smoothed[-1]:.2f} at the end, above the unigram entropy {run.line:.2f}"
        if rate < LOW_RATE:
            yield Finding("learning rate too low", "error", f"{seen}; learning rate {rate:g}", "try --lr 1e-4 or more")
        else:
            yield Finding("too short", "error", f"{seen} after {run.steps:,} steps", "take more --steps or --budget")
        return
    fall = float(run.smoothed[-1 - len(run.smoothed) // 5] - run.smoothed[-1])
    if fall > STILL_FALLING:
        seen = f"{run.loss_name} fell by {fall:.2f} in the last fifth"
        yield Finding("too short", "hint", seen, "more --steps or --budget would bring it further down")


def sentence_pairs(run: RunRecord) -> Iterator[Finding]:
    """Next-sentence accuracy at chance in the end, or perfect at the beginning."""
    name = next((name for name in PAIRED if name in run.settings.objective.split("+")), None)
    if name is None or run.steps - run.warm < LEARNING:
        return
    right = run.figure(f"{name}_accuracy")
    rows = run.figure("tokens") / run.settings.lengths[0]
    late, early = slice(-(run.steps // 4), None), slice(run.steps // 20, max(1, round(EARLY * run.steps)))
    if rows[late].sum() >= LOOKED_AT and (accuracy := float(np.average(right[late], weights=rows[late]))) < CHANCE:
        seen = f"{name} accuracy {accuracy:.1%} over the last {run.steps // 4:,} steps, where guessing gives 50 %"
        do = "train longer or on longer documents; for a short run leave it out (--objective mlm)"
        yield Finding("sentence pairs at chance", "warning" if run.finished else "hint", seen, do)
    if rows[early].sum() >= LOOKED_AT and (accuracy := float(np.average(right[early], weights=rows[early]))) > EASY:
        seen = f"{name} accuracy {accuracy:.1%} by step {early.stop:,} of {run.steps:,}"
        do = (
            "documents give themselves away (by language, layout or repeated lines): clean them, or use --objective mlm"
        )
        yield Finding("sentence pairs too easy", "warning", seen, do)


def overfitting(run: RunRecord) -> Iterator[Finding]:
    """The held-out loss rises while the training loss falls."""
    steps, values = run.held_out
    if len(values) < 3:
        return
    best = int(values.argmin())
    then = run.smoothed[max(0, steps[best] - (run.steps - len(run.smoothed)) - 1)]
    risen, fall = float(values[-1] - values[best]), float(then - run.smoothed[-1])
    if risen > OVERFITTED and fall > 0:
        seen = f"held-out loss +{risen:.2f} since step {steps[best]:,}, training loss {-fall:+.2f}"
        do = "more text, --drop-duplicates, a smaller --size, --dropout 0.1, or fewer --steps"
        yield Finding("overfitting", "warning", seen, do)


def corpus(run: RunRecord) -> Iterator[Finding]:
    """What is wrong with the text that the run learns from."""
    if run.other_store:
        do = "name the run's own with --store, or begin a new run"
        yield Finding("another store", "warning", "the store is not the one that the run was begun with", do)
    if run.store is not None:
        yield from diagnose_store(run.store, pairs=bool(set(run.settings.objective.split("+")) & set(PAIRED)))


CHECKS: tuple[Callable[[RunRecord], Iterator[Finding]], ...] = (
    stuck,
    little_context,
    diverged,
    unstable,
    rate_too_high,
    too_short,
    sentence_pairs,
    overfitting,
    corpus,
    damaged_checkpoints,
    unfinished,
)


def run_fields(run: RunRecord) -> dict[str, Any]:
    """The figures of a run as JSON has them; what could not be looked at is null."""
    _, held_out = run.held_out
    norms, clip = run.figure("gradient_norm"), run.settings.clip
    tokens = int(run.figure("tokens").sum())
    speeds = [event["tokens_per_second"] for event in Journal(run.folder / "speed.jsonl").events()]
    return {
        "steps": run.steps,
        "planned_steps": run.planned,
        "tokens": tokens,
        "tokens_per_second": round(float(np.median(speeds)), 1) if speeds else None,
        "epochs": round(tokens / run.store.tokens, 3) if run.store else None,
        "loss": round(float(run.smoothed[-1]), 4),
        "held_out_loss": round(float(held_out[-1]), 4) if len(held_out) else None,
        "unigram_loss": run.line,
        "context_free_loss": None if run.line is None else round(context_free_loss(run.line, run.settings), 4),
        "gradient_norm": round(float(np.median(norms)), 4),
        "clipped": round(float(np.mean(norms > clip)), 4) if clip else 0.0,
        "store": run.store.to_dict() if run.store else None,
    }


def _settings(path: Path) -> PretrainingSettings:
    try:
        return PretrainingSettings.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} ({error})", wanted="the settings of a pretraining run") from None


def _saved_line(folder: Path) -> float | None:
    """The unigram entropy that a finished run wrote into its card, where its store is not at hand."""
    try:
        line = json.loads((folder / "unmask.json").read_text(encoding="utf-8"))["scores"]["unigram_loss"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(line) if isinstance(line, float | int) and math.isfinite(line) else None


def _store_hash(store: Store) -> str:
    return hashlib.sha256((store.folder / DESCRIPTION).read_bytes()).hexdigest()


def _spikes(losses: Floats) -> list[int]:
    """Steps whose loss lies far above those of the steps before."""
    skipped = max(0, len(losses) - SPIKES_IN)
    losses = losses[skipped:]
    if len(losses) <= SMOOTHED:
        return []
    before = np.lib.stride_tricks.sliding_window_view(losses[:-1], SMOOTHED)  # (steps - SMOOTHED, SMOOTHED)
    middle = np.median(before, axis=1)
    deviation = 1.4826 * np.median(np.abs(before - middle[:, None]), axis=1)  # of a normal distribution
    above = losses[SMOOTHED:] - middle
    found = np.flatnonzero(above > np.maximum(SPIKE_DEVIATIONS * deviation, SPIKE))
    return [skipped + SMOOTHED + int(place) for place in found]
