"""What every verb shares: the flags --quiet --json --seed --threads, progress on stderr, and one answer on stdout.

A verb is a plain function decorated with `verb`: it takes its own flags and a `console`, and returns an `Answer`.
"""

import functools
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer


@dataclass(frozen=True)
class Answer:
    """What a verb says at its end: the fields of its JSON, and the same in words."""

    fields: dict[str, Any]
    words: str


@dataclass
class Console:
    """The edge that speaks: progress and notes go to stderr, so that stdout holds the answer alone."""

    quiet: bool = False
    json: bool = False
    seed: int = 0
    threads: int | None = None

    def note(self, line: str) -> None:
        """Says something worth knowing that is not the answer."""
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, title: str, total: float | None = None, unit: str = "") -> "Iterator[Progress]":
        """Shows work that takes a while: a live bar on a terminal, a plain line every few seconds elsewhere."""
        if self.quiet:
            yield Progress()
        elif sys.stderr.isatty():
            with _live_bar(title, total, unit) as progress:
                yield progress
        else:
            yield _PlainLines(title, total, unit)


class Progress:
    """Where the work stands; this one is silent."""

    def update(self, done: float, total: float | None = None, **figures: Any) -> None:
        """`done` of the total (a new one, if given), with figures to show beside it, already rounded for people."""


@dataclass
class _PlainLines(Progress):
    title: str
    total: float | None
    unit: str
    every: float = 5.0
    started: float = field(default_factory=time.monotonic)
    shown: float = field(default_factory=time.monotonic)
    before: float | None = None  # what was done when this began: a run that is resumed is far along at once

    def update(self, done: float, total: float | None = None, **figures: Any) -> None:
        now = time.monotonic()
        self.total = total or self.total
        if self.before is None:
            self.before, self.started = done, now
        finished = self.total is not None and done >= self.total
        if now - self.shown < self.every and not finished:
            return
        self.shown = now
        rate = (done - self.before) / max(now - self.started, 1e-9)
        of = f"/{_amount(self.total)}" if self.total else ""
        left = f" left {_clock((self.total - done) / rate)}" if self.total and rate and not finished else ""
        more = "".join(f" {name} {value}" for name, value in figures.items())
        print(f"{self.title} {_amount(done)}{of} {self.unit}{more}{left}", file=sys.stderr, flush=True)


@contextmanager
def _live_bar(title: str, total: float | None, unit: str) -> Iterator[Progress]:
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[amount]}"),
        TextColumn("{task.fields[figures]}", style="cyan"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=RichConsole(stderr=True)) as bar:
        task = bar.add_task(title, total=total, amount="", figures="")

        class Live(Progress):
            def update(self, done: float, total: float | None = None, **figures: Any) -> None:
                whole = total or bar.tasks[task].total
                of = f"/{_amount(whole)}" if whole else ""
                text = " ".join(f"{name} {value}" for name, value in figures.items())
                if bar.tasks[task].completed == 0:  # a run that is resumed is far along at once: no sign of its speed
                    bar.reset(task, total=whole, completed=int(done))
                bar.update(task, completed=done, total=whole, amount=f"{_amount(done)}{of} {unit}", figures=text)

        yield Live()


def _amount(number: float | None) -> str:
    return "?" if number is None else f"{number:,.0f}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


Quiet = Annotated[bool, typer.Option("--quiet", help="Only the answer: no progress, no notes.")]
Json = Annotated[bool, typer.Option("--json", help="The answer as one JSON object on stdout.")]
Seed = Annotated[int, typer.Option("--seed", help="Where chance starts; the same seed gives the same result.")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="CPU threads to use; all cores if not given.")]
SHARED: dict[str, tuple[Any, Any]] = {
    "quiet": (Quiet, False),
    "json": (Json, False),
    "seed": (Seed, 0),
    "threads": (Threads, None),
}


def verb(function: Callable[..., Answer | None]) -> Callable[..., None]:
    """Turns a function of (its flags, console) into a verb with the shared flags, which prints the answer returned."""
    hints = inspect.get_annotations(function, eval_str=True)
    own = [p for p in inspect.signature(function).parameters.values() if p.name != "console"]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in SHARED.items()
    ]

    @functools.wraps(function)
    def run(**flags: Any) -> None:
        console = Console(**{name: flags.pop(name) for name in SHARED})
        if console.threads:
            _limit_threads(console.threads)
        answer = function(**flags, console=console)
        if answer is not None:
            print(json.dumps(answer.fields, ensure_ascii=False) if console.json else answer.words, flush=True)

    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[p.name]) for p in own]
    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in [*own, *shared]}
    del run.__wrapped__  # typer would read the signature behind the wrapper
    return run


def _limit_threads(threads: int) -> None:
    """Before torch, onnxruntime or the Rust tokenizer start their pools: they read these once, at import."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)
