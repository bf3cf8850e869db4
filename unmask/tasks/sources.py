"""Where examples come from: several files or folders of one task, read each in its own way, put together as one set.

A source is a path, read as the task says, or `PRESET=PATH`, read as that data set is. Labels must be those of one task:
`rename` makes them so, for instance 0 and 1 into negative and positive.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from unmask.data.cells import shorten
from unmask.data.examples import Reading, TaggedExample, TextExample
from unmask.errors import InputError
from unmask.tasks.asked import Asked, asked
from unmask.tasks.classification import Classification
from unmask.tasks.presets import PRESETS
from unmask.tasks.task import Task

Labels = Mapping[str, str]  # old name to new


@dataclass(frozen=True)
class Source:
    """A file or folder of examples, and how it is read."""

    name: str  # that its scores go by
    asked: Asked
    path: Path


@dataclass(frozen=True)
class Part:
    """The examples of one source."""

    source: Source
    reading: Reading

    def chosen(self, numbers: Sequence[int]) -> "Part":
        """The examples of these numbers alone."""
        examples, places = self.reading.examples, self.reading.places
        kept = Reading(tuple(examples[i] for i in numbers), places=tuple(places[i] for i in numbers) if places else ())
        return Part(self.source, kept)


def find_sources(task: Asked, given: Sequence[Path]) -> list[Source]:
    """The sources that a user named, each under a name of its own.

    >>> [source.name for source in find_sources(asked("classify"), [Path("sst2=glue/SST-2"), Path("mine.csv")])]
    ['sst2', 'mine.csv']
    """
    found = [_source(task, path) for path in given]
    names = Counter(source.name for source in found)
    return [
        source if names[source.name] == 1 else replace(source, name="/".join(source.path.parts[-2:]))
        for source in found
    ]


def _source(task: Asked, given: Path) -> Source:
    name, equals, path = str(given).partition("=")
    if not equals or name not in PRESETS:
        return Source(given.name, task, given)
    own = asked(name)
    if own.kind is not task.kind:
        kind = task.kind.task.kind
        raise InputError(f"{given}, whose task is {own.kind.task.kind}", wanted=f"examples of {kind}")
    return Source(name, own, Path(path))


def read_parts(
    sources: Iterable[Source], part: str, *, columns: Mapping[str, str], note: Callable[[str], None]
) -> list[Part]:
    """The examples of each source that has some of a part (train, dev); what was left out is told to `note`."""
    parts = []
    for source in sources:
        reading = source.asked.read(source.path, part, columns=None if source.asked.preset else columns)
        if reading is not None:
            for line in reading.notes:
                note(f"{source.name}: {line}")
            parts.append(Part(source, reading))
    return parts


def joined(parts: Sequence[Part]) -> Reading:
    """The examples of all parts, one after the other; documents of two parts never have the same number."""
    examples: list[Any] = []
    documents = 0
    for part in parts:
        own = [_in_document(example, documents) for example in part.reading.examples]
        documents = max([documents, *(example.document + 1 for example in own if isinstance(example, TaggedExample))])
        examples += own
    places = chain.from_iterable(part.reading.places or ("",) * len(part.reading.examples) for part in parts)
    return Reading(tuple(examples), places=tuple(places))


def check_agreement(parts: Sequence[Part]) -> list[str]:
    """What to tell of labels that only some parts have; an error if two parts have none in common."""
    known = {part.source.name: labels_of(part.reading) for part in parts}
    notes = []
    for name, labels in known.items():
        others = set().union(*(other for known_as, other in known.items() if known_as != name))
        if labels and others and not labels & others:
            raise InputError(
                f"labels {shorten(sorted(labels))} in {name}, and others than these everywhere else",
                wanted="one set of labels",
                do="make them the same, for instance with --rename 0=negative,1=positive",
            )
        if others and labels - others:
            notes.append(f"only {name} has {shorten(sorted(labels - others))}")
    return notes


def labels_of(reading: Reading) -> set[str]:
    """The classes of texts, or the types of tags; nothing of examples that have neither.

    >>> labels_of(Reading((TaggedExample("Ann", ((0, 3),), ("B-PER",)), TextExample("Ann", label=0.5))))
    {'PER'}
    """
    found: set[str] = set()
    for example in reading.examples:
        if isinstance(example, TaggedExample):
            found.update(tag.partition("-")[2] for tag in example.tags or ())
        elif isinstance(example, TextExample) and not isinstance(example.label, float):
            found.update((example.label,) if isinstance(example.label, str) else example.label or ())
    return found - {""}


def renamed(reading: Reading, names: Labels) -> Reading:
    """The examples with other labels: of texts their classes, of tagged words the types, where `O` takes a type out.

    >>> renamed(Reading((TextExample("fine", label="1"),)), {"1": "positive"}).examples[0].label
    'positive'
    >>> renamed(Reading((TaggedExample("Ann", ((0, 3),), ("B-MISC",)),)), {"MISC": "O"}).examples[0].tags
    ('O',)
    """
    return (
        replace(reading, examples=tuple(_renamed(example, names) for example in reading.examples)) if names else reading
    )


def check_renaming(parts: Sequence[Part], names: Labels) -> None:
    """Refuses to rename labels that no example has: a slip of the pen should not go unnoticed."""
    known = set().union(*(labels_of(part.reading) for part in parts))
    for old in names.keys() - known:
        raise InputError(f"--rename of {old!r}, which no example has", wanted=f"one of {shorten(sorted(known))}")


def measured_on(source: Source) -> list[str]:
    """The names of the files that a source is measured by.

    >>> measured_on(Source("mine", asked("classify"), Path("texts/mine.csv")))
    ['mine.csv']
    """
    if not source.path.is_dir():
        return [source.path.name]
    return [f"{source.path.name}/{file.name}" for file in source.asked.files(source.path, "dev")]


def measured_as(task: Task, source: Source) -> Task:
    """The task with the measures of the data set that a source is of, if it is of one and they fit its labels."""
    metrics = source.asked.options.get("metrics") if hasattr(task, "metrics") else None
    return replace(task, metrics=metrics) if metrics and have_positive(task, metrics) else task  # type: ignore[type-var]


def have_positive(task: Task, metrics: Sequence[str]) -> bool:
    """Whether classes have the label 1, if that is the one whose F1 is taken.

    >>> have_positive(Classification(("different", "same")), ("f1", "accuracy"))
    False
    """
    return not isinstance(task, Classification) or "f1" not in metrics or "1" in task.labels


def _renamed(example: Any, names: Labels) -> Any:
    if isinstance(example, TaggedExample):
        return replace(example, tags=tuple(_renamed_tag(tag, names) for tag in example.tags or ()))
    if isinstance(example, TextExample) and isinstance(example.label, str):
        return replace(example, label=names.get(example.label, example.label))
    if isinstance(example, TextExample) and isinstance(example.label, tuple):
        return replace(example, label=tuple(names.get(label, label) for label in example.label))
    raise InputError("--rename for examples without labels", wanted="classes or tags", do="leave it out")


def _renamed_tag(tag: str, names: Labels) -> str:
    letter, _, old = tag.partition("-")
    new = names.get(old, old)
    return "O" if new in ("O", "") else f"{letter}-{new}"


def _in_document(example: Any, before: int) -> Any:
    numbered = before and isinstance(example, TaggedExample) and example.document >= 0
    return replace(example, document=example.document + before) if numbered else example
