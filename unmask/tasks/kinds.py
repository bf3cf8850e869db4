"""The kinds of tasks by name, each with the reader of its files; and the task that a model folder describes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.data.choices import read_choices
from unmask.data.examples import Reading
from unmask.data.paired import read_pairs
from unmask.data.questions import read_questions
from unmask.data.tables import LabelKind, read_table
from unmask.data.tagged import read_tagged
from unmask.errors import InputError
from unmask.model.about import About
from unmask.tasks.answering import Answering
from unmask.tasks.choosing import Choosing
from unmask.tasks.classification import Classification
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.regression import Regression
from unmask.tasks.tagging import CHAIN, Tagging
from unmask.tasks.task import Task

Reader = Callable[..., Reading]  # (path, columns=…, labelled=…)


@dataclass(frozen=True)
class Kind:
    """A kind of task: what it is, and how the files of its examples are read."""

    task: Any  # a class of Task with `learned_from(examples, **options)`
    read: Reader
    heads: tuple[str, ...] = ()  # that it may have besides its usual one


def _read_classes(
    path: Path, *, columns: Mapping[str, str] | None = None, labelled: bool = True, labels: LabelKind = "class"
) -> Reading:
    return read_table(path, columns=columns, labelled=labelled, labels=labels)


def _read_values(path: Path, *, columns: Mapping[str, str] | None = None, labelled: bool = True) -> Reading:
    return read_table(path, columns=columns, labels="value", labelled=labelled)


KINDS: dict[str, Kind] = {
    "classify": Kind(Classification, _read_classes),
    "regress": Kind(Regression, _read_values),
    "tag": Kind(Tagging, read_tagged, heads=(CHAIN,)),
    "answer": Kind(Answering, read_questions),
    "choose": Kind(Choosing, read_choices),
    "embed": Kind(TextEmbedding, read_pairs),
}


def find_kind(name: str) -> Kind:
    """A kind of task by its name."""
    if name not in KINDS:
        raise InputError(f"task {name!r}", wanted=", ".join(KINDS), do="choose one of them")
    return KINDS[name]


def task_of(about: About, longest: int, folder: str = "the model") -> Task:
    """The task of a fine-tuned model folder.

    >>> task_of(About(head="classes", labels=("bad", "good")), 512).outputs
    2
    """
    for kind in KINDS.values():
        if about.head in (kind.task.head, *kind.heads):
            return kind.task.of(about, longest)  # type: ignore[no-any-return]
    raise InputError(f"{folder}, which was not fine-tuned for a task", wanted=f"a model for one of {', '.join(KINDS)}")
