"""How soon pretraining reaches the held-out loss that a plain transformers script ends with, in the same time.

In: text, and some learning rates for each side. Each run is a process of its own (`learning_runs.py`) and leaves a
file, so that the whole can be done in several sittings. Out: both sides' best curves, and when ours passes their end.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from unmask.data.store import Store
from unmask.errors import InputError
from unmask.files import atomic_path
from unmask.lab.learning_runs import Course, Point
from unmask.tasks.corpus import FEWEST_HELD_OUT, find_tokenizer, open_corpus
from unmask.tasks.pretraining import PretrainingSettings, unigram_loss

COLOURS = {"ours": "tab:blue", "theirs": "tab:orange"}
SIDES = {"ours": "unmask", "theirs": "transformers"}
MAY_DIFFER = ("side", "learning_rate", "core")  # among the runs of one comparison

Watch = Callable[[Course, Point], None]


@dataclass(frozen=True)
class LearningRun:
    """A finished run."""

    course: Course
    points: tuple[Point, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)  # by which it learned

    @property
    def final(self) -> Point:
        """Where it ended."""
        return self.points[-1]

    @classmethod
    def load(cls, path: Path) -> "LearningRun":
        """Reads a run's file."""
        found = json.loads(path.read_text(encoding="utf-8"))
        points = tuple(Point(**point) for point in found["points"])
        return cls(Course(**found["course"]), points, found.get("settings", {}))


@dataclass(frozen=True)
class Learning:
    """All finished runs of a comparison."""

    runs: tuple[LearningRun, ...]
    unigram_loss: float

    def best(self, side: str) -> LearningRun | None:
        """The run of a side that ended lowest."""
        return min((run for run in self.runs if run.course.side == side), key=lambda run: run.final.loss, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Seconds until each side's best run is where theirs ends, their ratio, and every curve."""
        ours, theirs = self.best("ours"), self.best("theirs")
        until = seconds_to(ours.points, theirs.final.loss) if ours and theirs else None
        return {
            "what": "learning",
            "unit": f"{self.runs[0].course.clock} seconds to their best held-out masked-word loss",
            "ours": until,
            "theirs": theirs.final.seconds if theirs else None,
            "ratio": until / theirs.final.seconds if until is not None and theirs else None,
            "our_loss": ours.final.loss if ours else None,
            "their_loss": theirs.final.loss if theirs else None,
            "our_learning_rate": ours.course.learning_rate if ours else None,
            "their_learning_rate": theirs.course.learning_rate if theirs else None,
            "unigram_loss": self.unigram_loss,
            "budget": self.runs[0].course.budget,
            "runs": {name_of(run.course): asdict(run) for run in self.runs},
        }


def seconds_to(points: Sequence[Point], loss: float) -> float | None:
    """When a curve goes below a loss for good, between two points on a straight line; none if it ends above.

    >>> curve = [Point(step, 0, 10.0 * step, 0.0, 0.0, loss) for step, loss in enumerate([9.0, 7.0, 6.0])]
    >>> seconds_to(curve, 6.5), seconds_to(curve, 5.0)
    (15.0, None)
    """
    if points[-1].loss > loss:
        return None
    above = max((place for place, point in enumerate(points) if point.loss > loss), default=None)
    if above is None:
        return points[0].seconds
    before, after = points[above], points[above + 1]
    share = (before.loss - loss) / (before.loss - after.loss)
    return before.seconds + share * (after.seconds - before.seconds)


def name_of(course: Course) -> str:
    """A run's name, which is its file's.

    >>> name_of(Course("ours", 1.5e-3, "store", "mini", 60.0, "cpu", 1, 0))
    'ours_1.5e-3'
    """
    mantissa, exponent = f"{course.learning_rate:e}".split("e")
    return f"{course.side}_{float(mantissa):g}e{int(exponent)}"


def find_store(text: Path, folder: Path) -> Path:
    """A store as it is, or one made from text in `folder`; it must have documents to hold out."""

    def tokenizer(paths: Sequence[Path]) -> Any:
        return find_tokenizer(paths, vocabulary=None, size=None, cased=False, learned=folder / "vocab.txt")

    share = PretrainingSettings().held_out
    corpus = open_corpus([text], folder / "store", tokenizer, held_out=share)
    if not len(corpus.held_out):
        raise InputError(
            f"{text} with {corpus.store.document_count} documents",
            wanted=f"at least {FEWEST_HELD_OUT} held out, of which there is one in {1 / share:.0f}",
            do="give more text, documents divided by empty lines",
        )
    return corpus.store.folder.resolve()


def courses(rates: Mapping[str, Iterable[float]], alike: Course) -> list[Course]:
    """The runs to make, the sides in turns.

    >>> alike = Course("", 0.0, "store", "mini", 60.0, "cpu", 1, 0)
    >>> [name_of(course) for course in courses({"ours": [1e-3, 2e-3], "theirs": [1e-4]}, alike)]
    ['ours_1e-3', 'theirs_1e-4', 'ours_2e-3']
    """
    sides = [[replace(alike, side=side, learning_rate=rate) for rate in found] for side, found in rates.items()]
    return [course for course in chain(*zip_longest(*sides)) if course is not None]


def run_missing(wanted: Sequence[Course], folder: Path, *, cores: Sequence[int], watch: Watch) -> None:
    """Makes the runs that have no file yet: one after the other, or one on each of the cores at the same time."""
    _check_cores(cores)
    folder.mkdir(parents=True, exist_ok=True)
    places: Sequence[int | None] = cores or [None]
    free: SimpleQueue[int | None] = SimpleQueue()
    for core in places:
        free.put(core)

    def work(course: Course) -> None:
        core = free.get()
        try:
            _run(replace(course, core=core), folder, watch)
        finally:
            free.put(core)

    missing = [course for course in wanted if not _file(course, folder).exists()]
    with ThreadPoolExecutor(len(places)) as workers:
        made = [workers.submit(work, course) for course in missing]
        try:
            wait(made)
        except KeyboardInterrupt:
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    for run in made:
        run.result()  # raises what the run did; the others were made all the same


def _check_cores(cores: Sequence[int]) -> None:
    if not cores:  # nothing is asked of systems that cannot keep a process on a core
        return
    known = os.sched_getaffinity(0)
    for core in set(cores) - known:
        raise InputError(f"core {core}", wanted=f"one of {', '.join(map(str, sorted(known)))}")


def _run(course: Course, folder: Path, watch: Watch) -> None:
    """A run in a process of its own, watched point by point."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), str(course.threads))
    command = [sys.executable, "-m", "unmask.lab.learning_runs", json.dumps(asdict(course)), str(_file(course, folder))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | threads) as process:
        assert process.stdout is not None
        for line in process.stdout:
            watch(course, Point(**json.loads(line)))
    if process.returncode:
        raise InputError(
            f"{name_of(course)}, which ended with status {process.returncode}", wanted="a whole run", do="see above"
        )


def collect(folder: Path) -> Learning:
    """All runs that a folder holds; they must be of one comparison."""
    runs = tuple(LearningRun.load(path) for path in sorted(folder.glob("*_*e*.json")))
    if not runs:
        raise InputError(f"{folder} without a finished run", wanted="at least one", do="give a learning rate")
    alike = [known.name for known in fields(Course) if known.name not in MAY_DIFFER]
    differ = [name for name in alike if len({getattr(run.course, name) for run in runs}) > 1]
    if differ:
        raise InputError(
            f"{folder} with runs that differ in {', '.join(differ)}",
            wanted="runs of one comparison",
            do="choose another folder with -o, or remove those of another",
        )
    store = Store.open(Path(runs[0].course.store))
    return Learning(runs, unigram_loss(store, store.tokenizer().size))


def draw(path: Path, learning: Learning) -> None:
    """All curves in one picture, each side's best drawn strongly."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for run in learning.runs:
        side, strong = run.course.side, run is learning.best(run.course.side)
        axes.plot(
            [point.seconds for point in run.points[1:]],  # the first, untrained, would squeeze all others
            [point.loss for point in run.points[1:]],
            color=COLOURS[side],
            linewidth=2.5 if strong else 0.8,
            alpha=1.0 if strong else 0.6,
            label=f"{SIDES[side]}, learning rate {run.course.learning_rate:g}: {run.final.loss:.2f}",
        )
    line = learning.unigram_loss
    axes.axhline(line, linestyle="--", color="grey", linewidth=1, label=f"unigram entropy {line:.2f}")
    clock = {"wall": "seconds", "cpu": "processor seconds"}[learning.runs[0].course.clock]
    axes.set(xlabel=f"{clock} of training", ylabel="held-out masked-word loss (nats)")
    threads = learning.runs[0].course.threads
    axes.set_title(f"{learning.runs[0].course.size}, {threads} thread{'s' * (threads > 1)}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def _file(course: Course, folder: Path) -> Path:
    return folder / f"{name_of(course)}.json"
