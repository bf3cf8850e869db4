"""What a compression learns from and is measured on: a model's task and the user's files in, examples out.

Labelled files of the task, or plain text where there are no labels; without any file, made sentences to time one on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from unmask.data.examples import ChoiceExample, QuestionExample, Reading, TextExample
from unmask.data.splitting import split
from unmask.data.tables import read_table
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.model.about import About
from unmask.tasks.asked import asked
from unmask.tasks.classification import Classification
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.kinds import KINDS
from unmask.tasks.presets import PRESETS
from unmask.tasks.task import Task

DEV_SHARE = 0.1  # of the examples, where no dev file is given
TIMED = 128  # examples that a model is timed on
SENTENCES = (
    "Fine.",
    "The train was late again.",
    "我们下午三点在车站见面。",
    "She put the letter back into the drawer without reading it.",
    "Nobody had told the gardener that the roses were to be moved before the winter.",
    "After the rain had stopped, the children ran down to the river to see how high the water stood this time.",
    "这家店的面条很好吃，老板也很热情，就是周末的时候排队的人太多了。",
    "When the committee met in the autumn, the members could agree neither on the price of the new bridge nor on the "
    "place where it was to be built, and so the ferry went on crossing the river for another twenty years.",
)


@dataclass(frozen=True)
class Material:
    """Examples of one task."""

    task: Task  # as it learns from them
    training: Sequence[Any] = ()
    dev: Sequence[Any] = ()
    labelled: bool = False  # the training examples
    scored: bool = False  # the dev examples have labels
    notes: tuple[str, ...] = ()

    @property
    def timed(self) -> list[Any]:
        """Examples to time a model on: the user's, or made ones."""
        given = self.dev or self.training
        return list(given[:TIMED]) if given else made_examples(self.task, TIMED)


def read_material(
    about: About,
    task: Task,
    data: Path | None,
    dev: Path | None,
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Material:
    """The examples of files; a tenth is set aside to measure on where no dev file is given."""
    if data is None and dev is None:
        return Material(task)
    train, labelled = _read(about, task, data, "train", columns) if data else (Reading(()), False)
    task = fitted(task, train.examples) if labelled else task
    if dev is not None:
        measured, scored = _read(about, task, dev, "dev", columns)
        return Material(task, train.examples, measured.examples, labelled, scored, (*train.notes, *measured.notes))
    by = [str(example.label) for example in train.examples] if labelled and isinstance(task, Classification) else None
    kept, aside = split(train.examples, DEV_SHARE, seed=seed, by=by)
    note = f"no dev file: {len(aside):,} of {len(train.examples):,} examples are set aside to measure on"
    chosen = [[train.examples[number] for number in numbers] for numbers in (kept, aside)]
    return Material(task, chosen[0], chosen[1], labelled, labelled, (*train.notes, note))


def _read(about: About, task: Task, path: Path, part: str, columns: Mapping[str, str] | None) -> tuple[Reading, bool]:
    """The examples of a file and whether they have labels; where the task finds none, texts are read without."""
    columns = {} if ".txt" in path.suffixes else columns  # such a file names none
    if task.kind not in KINDS:
        return read_table(path, columns=columns, labelled=False), False
    wanted = asked(about.task if about.task in PRESETS else task.kind)
    try:
        reading = wanted.read(path, part, columns=columns)
        if reading is None:
            raise InputError(f"{path} without examples to {part}", do="name the file itself")
        return reading, not (task.kind == "embed" and any(example.pair is None for example in reading.examples))
    except InputError as missing:
        try:
            reading = wanted.read(path, part, columns=columns, labelled=False)
        except InputError:
            raise missing from None
        if reading is None:
            raise
        return reading, False


def fitted(task: Task, examples: Sequence[Any]) -> Task:
    """The task as it learns from labelled examples: a folder of embeddings does not say what its values ranged over.

    >>> pairs = [TextExample("a", "b", 5.0), TextExample("c", "d", 0.0)]
    >>> task = fitted(TextEmbedding(), pairs)
    >>> isinstance(task, TextEmbedding) and task.highest
    5.0
    """
    if not isinstance(task, TextEmbedding):
        return task
    learned = TextEmbedding.learned_from(examples)
    return replace(task, loss=learned.loss, lowest=learned.lowest, highest=learned.highest)


def made_examples(task: Task, count: int) -> list[Any]:
    """So many examples of a task, of sentences of many lengths.

    >>> [example.text for example in made_examples(Classification(("no", "yes")), 2)]
    ['Fine.', 'The train was late again.']
    """
    make = MADE.get(task.kind, TextExample)
    return [make(sentence) for sentence in islice(cycle(SENTENCES), count)]


MADE: dict[str, Callable[[str], Any]] = {
    "tag": untagged,
    "answer": lambda sentence: QuestionExample("What happened?", sentence),
    "choose": lambda sentence: ChoiceExample(sentence, ("It rained.", "It did not rain.")),
}
