"""The experiments by name: what each needs and how its rows are made; a request in, all its rows and a report out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unmask.data.tables import check_labels
from unmask.errors import InputError
from unmask.lab import ancestors, features, masking, objectives, sizes
from unmask.lab.experiment import Asked, Row, begin, make_rows
from unmask.lab.experiment_report import PICTURE, REPORT, draw, write_report
from unmask.lab.similarity import read_similarity
from unmask.lab.workbench import Show, Workbench, share_of, unseen
from unmask.model.config import BertConfig
from unmask.tasks.asked import asked as task_named
from unmask.tasks.classification import Classification
from unmask.tasks.sources import find_sources, joined, read_parts


@dataclass(frozen=True)
class Experiment:
    """One of the paper's questions."""

    columns: tuple[str, ...]
    rows: Callable[[Workbench], Mapping[str, Callable[[], Row]]]
    trainings: Callable[[Asked], int]  # pretrainings that share the time; none: it pretrains nothing
    check: Callable[[Asked], None] = lambda _: None  # refuses what it cannot work with


EXPERIMENTS: dict[str, Experiment] = {
    "objectives": Experiment(objectives.COLUMNS, objectives.rows, lambda _: len(objectives.OBJECTIVES)),
    "sizes": Experiment(sizes.COLUMNS, sizes.rows, lambda asked: len(asked.sizes)),
    "features": Experiment(features.COLUMNS, features.rows, lambda _: 0),
    "masking": Experiment(masking.COLUMNS, masking.rows, lambda _: len(masking.PAPER_MIXES)),
    "ancestors": Experiment(ancestors.COLUMNS, ancestors.rows, lambda _: len(ancestors.ANCESTORS), ancestors.check),
}
PRETRAINING = frozenset(name for name in EXPERIMENTS if name != "features")  # those that a budget is for


@dataclass(frozen=True)
class Found:
    """What an experiment found."""

    asked: Asked
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The fields of the verb's JSON."""
        folder = self.asked.folder
        places = {"folder": str(folder), "report": str(folder / REPORT), "picture": str(folder / PICTURE)}
        return {"experiment": self.asked.experiment, "columns": list(self.columns), "rows": self.rows, **places}


def run(
    asked: Asked,
    note: Callable[[str], None] = lambda _: None,
    show: Show = unseen,
    stop: Callable[[], bool] = lambda: False,
) -> Found:
    """Makes the rows that are missing and writes the report."""
    experiment = check(asked)
    share = share_of(asked, experiment.trainings(asked)) if experiment.trainings(asked) else None
    begin(asked)
    bench = Workbench(asked, share, note, show, stop)
    rows = make_rows(asked, experiment.columns, experiment.rows(bench), note)
    notes = [] if not experiment.trainings(asked) else [measured_on(bench)]
    write_report(asked.folder, asked.experiment, experiment.columns, rows, notes)
    draw(asked.folder / PICTURE, asked.experiment, experiment.columns, rows)
    return Found(asked, experiment.columns, rows)


def measured_on(bench: Workbench) -> str:
    """A sentence on the text that losses are of."""
    held_out, all_of_them = len(bench.corpus.held_out), bench.corpus.store.document_count
    if held_out:
        return f"Losses are in nats, of {held_out:,} documents of {all_of_them:,} that were held out."
    return f"Losses are of the text that was learned from: its {all_of_them:,} documents are too few to hold some out."


def check(asked: Asked) -> Experiment:
    """The experiment of a name; what it cannot work with is refused before anything is read at length."""
    if asked.experiment not in EXPERIMENTS:
        names = ", ".join(EXPERIMENTS)
        raise InputError(f"experiment {asked.experiment!r}", wanted=names, do="choose one of them")
    experiment = EXPERIMENTS[asked.experiment]
    (_check_pretraining if experiment.trainings(asked) else _check_without)(asked)
    experiment.check(asked)
    check_labelled(asked)
    return experiment


def _check_pretraining(asked: Asked) -> None:
    name = asked.experiment
    if not asked.text:
        raise InputError(f"{name} without text", wanted="text to pretrain on", do="name files, folders or a store")
    if asked.model is not None:
        raise InputError(f"-m {asked.model} with {name}, which pretrains its own", do="leave it out")
    if (asked.budget is None) == (asked.steps is None):
        raise InputError("both --budget and --steps, or neither", wanted="one of them")
    for size in {asked.size, *asked.sizes}:
        BertConfig.named(size)


def _check_without(asked: Asked) -> None:
    name = asked.experiment
    if not asked.train:
        raise InputError(f"{name} without examples", wanted="a task to learn", do="name a file with --train")
    if asked.text:
        raise InputError(f"text for {name}, which pretrains nothing", wanted="a model", do="name one with -m")
    if asked.budget is not None or asked.steps is not None:
        raise InputError(f"a budget or steps for {name}, which pretrains nothing", do="give --epochs, or nothing")


def check_labelled(asked: Asked) -> None:
    """Refuses a task without two classes, or without examples, before hours are spent on pretraining."""
    if asked.similarity is not None:
        read_similarity(asked.similarity)
    if not asked.train:
        if asked.dev:
            raise InputError("--dev without --train", wanted="examples to learn from", do="name a file with --train")
        return
    task = task_named(asked.task)
    parts = read_parts(find_sources(task, asked.train), "train", columns=asked.columns, note=lambda _: None)
    if not parts:
        raise InputError(f"{asked.train[0]} without train examples", do="name a file with --train")
    if task.kind.task is Classification and not task.options.get("labels"):
        check_labels(joined(parts))
