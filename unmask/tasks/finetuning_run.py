"""A fine-tuning from request to model folder: files read, model opened, task learned, scored, calibrated, saved."""

import hashlib
import inspect
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import torch

from unmask.data.examples import Reading
from unmask.data.splitting import first_share, split, split_apart
from unmask.data.tables import check_labels
from unmask.errors import InputError
from unmask.files import write_text
from unmask.model.about import About
from unmask.model.folder import open_model, save_model
from unmask.model.starting_point import was_averaged, with_fresh_head
from unmask.tasks.asked import asked
from unmask.tasks.bias import BiasReport, judge_of, probe_bias
from unmask.tasks.classification import Classification
from unmask.tasks.finetuning import (
    FEATURE_RECIPE,
    FROZEN_RECIPE,
    FineTuning,
    FineTuningSettings,
    Standing,
    fitting_rate,
)
from unmask.tasks.report import REPORT, write_report
from unmask.tasks.sources import (
    Part,
    Source,
    check_agreement,
    check_renaming,
    find_sources,
    have_positive,
    joined,
    measured_as,
    measured_on,
    read_parts,
    renamed,
)
from unmask.tasks.task import Task
from unmask.training.half_precision import AUTO, settled_precision
from unmask.training.memory import use_huge_pages
from unmask.training.same_settings import SETTINGS, check_same_settings

DEV_SHARE = 0.1  # of the training examples, where no dev file is given
OUTCOME = "outcome.json"
FEW = 30  # examples below which a score is mostly chance: its deviation is then about a tenth
OnStep = Callable[[Standing], None]


@dataclass(frozen=True)
class Request:
    """What a user asks for."""

    task: str
    model: str
    train: Path | Sequence[Path]  # each may be PRESET=PATH
    folder: Path
    dev: Path | Sequence[Path] | None = None
    rename: Mapping[str, str] = field(default_factory=dict)  # of labels: old name to new
    most: int | None = None  # training examples of each file
    columns: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the settings; None: as the recipe says
    options: Mapping[str, Any] = field(default_factory=dict)  # of the task, such as longest and long_text
    share: float = 1.0  # of the training examples
    class_weights: bool = False
    multi_label: bool = False  # a text has any number of classes
    share_encoder: bool = False  # the folder stores only what differs from the model
    device: str = "cpu"
    save_every: float = 60.0
    features_folder: Path | None = None  # where runs find each other's features; if none, each has its own for a while

    @property
    def train_paths(self) -> tuple[Path, ...]:
        """All files and folders to learn from."""
        return (self.train,) if isinstance(self.train, Path) else tuple(self.train)

    @property
    def dev_paths(self) -> tuple[Path, ...]:
        """All files and folders to measure on, if any were named."""
        return (self.dev,) if isinstance(self.dev, Path) else tuple(self.dev or ())


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    folder: str
    task: str
    metric: str
    score: float
    scores: Mapping[str, float]
    examples: int  # learned from
    dev_examples: int
    steps: int
    seconds: float
    examples_per_second: float
    by_source: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # the scores of each, if several

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return asdict(self)


class FineTuningRun:
    """Everything of one request, ready to be trained."""

    def __init__(self, request: Request, note: Callable[[str], None] = lambda _: None) -> None:
        self.request, self.note = request, note
        self.started = time.monotonic()
        use_huge_pages()
        self.asked = replace(asked(request.task), multi_label=request.multi_label)
        if request.folder.is_file():
            raise InputError(f"-o {request.folder}, a file", wanted="a folder to write", do="choose another with -o")
        if request.multi_label and self.asked.kind.task is not Classification:
            raise InputError(f"--multi-label with {request.task}", wanted="classify", do="leave it out")
        examples, self.dev, task = self._read()
        self.training = [examples[i] for i in first_share(len(examples), request.share, request.changes.get("seed", 0))]
        self.opened = open_model(request.model)
        self.task = self._fitting(task)
        changes = {name: value for name, value in request.changes.items() if value is not None}
        settings = FineTuningSettings(**{"precision": AUTO, **self.asked.changes, **self._recipe(), **changes})
        self.settings = replace(
            settings,
            task=request.task,
            model=self._model_hash(),
            data=self._data_hash(),
            precision=settled_precision(settings.precision, request.device),
        )
        check_same_settings(request.folder, self.settings)
        self.config, self.model = with_fresh_head(
            self.opened,
            self.task.head,
            outputs=self.task.outputs,
            pooling=getattr(self.task, "pooling", "mean"),
            dropout=self.settings.dropout,
            positions=self.settings.positions,
            segments=self.task.segments,
            fresh_layers=self.settings.fresh_layers,
            mean_start=self.settings.mean_start,
            features=self.settings.read,
            seed=self.settings.seed,
        )
        self.model.to(request.device)
        self.tuning = FineTuning(
            request.folder,
            self.task,
            self.model,
            self.opened.tokenizer,
            self.training,
            self.dev,
            self.settings,
            save_every=request.save_every,
            features_folder=request.features_folder,
        )

    def train(self, on_step: OnStep = lambda _: None, stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Learns what is left to learn, then measures, calibrates and saves; what is finished is not done again."""
        finished = self.request.folder / OUTCOME
        if finished.exists():
            return Outcome(**json.loads(finished.read_text(encoding="utf-8")))
        self.tuning.resume(self.note)
        write_text(self.request.folder / SETTINGS, self.settings.to_json())
        if self.tuning.cached is not None:
            self.note(f"the features of {self.tuning.cached.cache.tokens:,} pieces are computed once, before all steps")
        for standing in self.tuning.train(stop=stop):
            on_step(standing)
        return self._end(stop)

    def _read(self) -> tuple[Sequence[Any], Sequence[Any], Task]:
        """The examples to learn from and to measure on, and the task that they make up."""
        request = self.request
        given = find_sources(self.asked, request.train_paths)
        train = self._parts(given, "train")
        for line in check_agreement(train):
            self.note(line)
        named = find_sources(self.asked, request.dev_paths)
        dev = self._parts(named or [source for source in given if source.path.is_dir()], "dev")
        for sources, parts, flag in ((given, train, "train"), (named, dev, "dev")):
            if len(parts) < len(sources):
                lacking = next(source for source in sources if source not in [part.source for part in parts])
                raise InputError(f"{lacking.path} without {flag} examples", do=f"name a file with --{flag}")
        task = self._task(joined(train), joined(dev) if dev else None)
        self.dev_from = [name for part in dev for name in measured_on(part.source)]
        if not named:
            measured = {part.source.name for part in dev}
            divided = [(part, None) if part.source.name in measured else self._set_aside(part, task) for part in train]
            train, dev = [kept for kept, _ in divided], dev + [aside for _, aside in divided if aside is not None]
        self.dev_parts = dev
        learned, held = joined([self._first(part) for part in train]).examples, joined(dev).examples
        if len(held) < FEW:
            self.note(f"measured on {len(held)}, fewer than {FEW}: the score says little; give more with --dev")
        return learned, held, task

    def _parts(self, sources: Sequence[Source], part: str) -> list[Part]:
        names = self.request.rename
        parts = read_parts(sources, part, columns=self.request.columns, note=self.note)
        if part == "train":
            check_renaming(parts, names)
        return [Part(part.source, renamed(part.reading, names)) for part in parts]

    def _task(self, train: Reading, dev: Reading | None) -> Task:
        request = self.request
        options = {**self.asked.options, **request.options}
        if self.asked.kind.task is Classification:
            labels = () if request.rename else options.get("labels", ())
            options["labels"] = labels or check_labels(train, dev)
        check_options(self.asked.kind.task, request.options)
        task: Task = self.asked.kind.task.learned_from(train.examples, **options)
        if not have_positive(task, options.get("metrics", ())):
            raise InputError(
                f"{request.task}, measured by the F1 of its label 1, without that label", do="use classify"
            )
        return weighted(task, train.examples) if request.class_weights else task

    def _set_aside(self, part: Part, task: Task) -> tuple[Part, Part]:
        """A part to learn from and one to measure on, of one that has no dev file."""
        kept, aside = set_aside(part.reading.examples, task)
        self.note(
            f"{part.source.name}, no dev file: {len(aside):,} examples of {len(kept) + len(aside):,} are set aside"
        )
        self.dev_from.append(f"{DEV_SHARE:.0%} of {part.source.path.name}")
        return part.chosen(kept), part.chosen(aside)

    def _first(self, part: Part) -> Part:
        """As many examples of a part as are to be learned from."""
        count, most = len(part.reading.examples), self.request.most
        if most is None or most >= count:
            return part
        return part.chosen(first_share(count, most / count, self.request.changes.get("seed", 0)))

    def _fitting(self, task: Task) -> Task:
        """The task with a length that the model has positions for; a length that was asked for is not changed."""
        positions = self.request.changes.get("positions") or self.opened.config.positions
        if task.longest <= positions:
            return task
        if "longest" not in self.request.options:
            return replace(task, longest=positions)  # type: ignore[type-var]
        raise InputError(
            f"a length of {task.longest} pieces for a model of {positions} positions",
            wanted=f"at most {positions}",
            do=f"lower --length, or give --positions {task.longest}",
        )

    def _recipe(self) -> Mapping[str, Any]:
        """What this model wants of a recipe that was made for another."""
        if self.request.changes.get("features") and not self.request.changes.get("thawed"):
            return FEATURE_RECIPE
        averaged = {"mean_start": was_averaged(self.opened, self.task.head)}
        if self.request.changes.get("freeze") == "all":
            return FROZEN_RECIPE | averaged
        published = self.asked.changes.get("learning_rate", FineTuningSettings.learning_rate)
        return {"learning_rate": fitting_rate(published, self.opened.config.width)} | averaged

    def _model_hash(self) -> str:
        digest = hashlib.sha256()
        for name, tensor in self.opened.model.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def _data_hash(self) -> str:
        return hashlib.sha256(repr((self.training, self.dev, self.task)).encode()).hexdigest()

    def _end(self, stop: Callable[[], bool]) -> Outcome:
        tuning, request = self.tuning, self.request
        outputs = tuning.outputs(stop)
        task = self.task.calibrated(self.dev, tuning.dev_rows, outputs)
        answers = task.answers(self.dev, tuning.dev_rows, outputs)
        scores = task.scores(self.dev, answers)
        by_source = self._scores_by_source(task, answers)
        seen = tuning.batches.examples_until(tuning.run.step)
        outcome = Outcome(
            folder=str(request.folder),
            task=request.task,
            metric=task.metric,
            score=scores[task.metric],
            scores=scores,
            examples=len(self.training),
            dev_examples=len(self.dev),
            steps=tuning.run.step,
            seconds=round(tuning.run.spent, 3),
            examples_per_second=round(seen / max(tuning.run.spent, 1e-9), 1),
            by_source=by_source,
        )
        provenance = {
            "start": request.model,
            "train": ", ".join(path.name for path in request.train_paths),
            "dev": ", ".join(self.dev_from),
            "settings": asdict(self.settings),
            "torch": torch.__version__,
        }
        said = {
            "scores": {**scores, **by_source},
            "provenance": provenance,
            "features": self.settings.read,
            **task.about,
        }
        about = About(head=task.head, task=request.task, **said)
        base = request.model if request.share_encoder else None
        save_model(request.folder, self.config, self.model.cpu(), self.opened.tokenizer, about, base=base)
        write_report(
            request.folder / REPORT,
            title=f"{request.folder.name}: {request.task}",
            task=task,
            examples=self.dev,
            answers=answers,
            scores=scores,
            tokenizer=self.opened.tokenizer,
            journal_events=tuning.run.journal.events(),
            settings={"start": request.model, **asdict(self.settings)},
            train=self.training,
            bias=self._bias(task),
        )
        shutil.rmtree(tuning.run.checkpoints, ignore_errors=True)
        tuning.best_path.unlink(missing_ok=True)
        write_text(request.folder / OUTCOME, json.dumps(outcome.to_dict(), indent=2) + "\n")
        return outcome

    def _bias(self, task: Task) -> BiasReport | None:
        """What swapped names and places do to a model that judges single texts."""
        if any(getattr(example, "pair", None) is not None for example in self.dev):
            return None
        return probe_bias(task, judge_of(task, self.model, self.opened.tokenizer), self.opened.tokenizer)

    def _scores_by_source(self, task: Task, answers: Sequence[Any]) -> dict[str, dict[str, float]]:
        """The scores of each source where there are several, by the measures of its own data set if it is of one."""
        found, start = {}, 0
        for part in self.dev_parts if len(self.dev_parts) > 1 else ():
            own = slice(start, start := start + len(part.reading.examples))
            found[part.source.name] = measured_as(task, part.source).scores(self.dev[own], answers[own])
        return found


@contextmanager
def shared_features(request: Request) -> Iterator[Request]:
    """The request for several runs on the same examples: features are computed once for all, and removed behind them.

    Runs that are interrupted leave them, to go on with.
    """
    folder = request.folder / "features"
    yield replace(request, features_folder=folder)
    shutil.rmtree(folder, ignore_errors=True)


def set_aside(examples: Sequence[Any], task: Task) -> tuple[list[int], list[int]]:
    """Numbers of examples to learn from and to measure on: classes in their shares, no text or document divided.

    The same for every seed, so that runs with several are measured on one set.
    """
    if isinstance(task, Classification):
        return split(examples, DEV_SHARE, by=[str(example.label) for example in examples])
    source = SOURCES.get(task.kind)
    return split_apart(examples, DEV_SHARE, source) if source else split(examples, DEV_SHARE)


SOURCES: dict[str, Callable[[Any], Any]] = {
    "answer": lambda question: question.context,
    "tag": lambda sentence: sentence.document,
    "choose": lambda choice: (choice.context, choice.question),
}


def check_options(task: type[Task], options: Mapping[str, Any]) -> None:
    """Refuses options that a kind of task does not have."""
    known = inspect.signature(task.learned_from).parameters.keys() | {field.name for field in fields(task)}  # type: ignore[attr-defined, arg-type]
    for name in options.keys() - known:
        flag = {"longest": "--length"}.get(name, f"--{name.replace('_', '-')}")
        raise InputError(f"{flag} with {task.kind}, which has no such option", do="leave it out")


def weighted(task: Task, examples: Sequence[Any]) -> Task:
    """The task with rare classes counting as much as frequent ones."""
    if not isinstance(task, Classification) or task.multi_label:
        raise InputError(f"class weights for {task.kind}", wanted="one class for each text", do="leave them out")
    return task.weighted(examples)
