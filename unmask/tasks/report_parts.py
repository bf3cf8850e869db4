"""What a report is made of: the score and its figures, tables, and numbers that a page draws as pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unmask.decode.labels import Calibration

Curve = Sequence[tuple[float, float]]  # points from left to right


@dataclass(frozen=True)
class Mark:
    """A stretch of text in a cell: how it stands to what was expected, and a word on it."""

    text: str
    kind: str = ""  # right, missed, wrong, other; nothing for plain text
    note: str = ""


Cell = str | int | float | None | tuple[Mark, ...]


@dataclass(frozen=True)
class Score:
    """The figure that counts, how far it can be trusted, and what would be had for nothing."""

    metric: str
    value: float
    interval: tuple[float, float] | None  # 95 %, by drawing the examples anew
    examples: int
    chance: float | None = None  # the same figure of whoever always gives the commonest answer


@dataclass(frozen=True)
class Table:
    """Rows of cells under their columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    wide: bool = False  # has texts, which need the whole width of a page


@dataclass(frozen=True)
class Matrix:
    """How often each label was given where each was expected."""

    title: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]  # a row for each expected label
    note: str = ""


@dataclass(frozen=True)
class Reliability:
    """How sure the model was beside how often it was right."""

    title: str
    calibrations: Mapping[str, Calibration]
    note: str = ""


@dataclass(frozen=True)
class Lines:
    """A curve over the steps of the run."""

    title: str
    curve: Curve
    up: str  # what goes up and down
    note: str = ""


@dataclass(frozen=True)
class Scatter:
    """Given values beside expected ones."""

    title: str
    points: Curve  # (expected, given)
    note: str = ""


@dataclass(frozen=True)
class Bars:
    """Counts by name, in their order."""

    title: str
    counts: Mapping[str, int]
    across: str  # what the names are
    up: str  # what is counted
    note: str = ""


Part = Table | Matrix | Reliability | Lines | Scatter | Bars


@dataclass(frozen=True)
class Findings:
    """What is found in the answers of one kind of task."""

    interval: tuple[float, float] | None
    parts: tuple[Part, ...]
    chance: float | None = None


@dataclass(frozen=True)
class Report:
    """Everything that is said of a fine-tuning."""

    title: str
    task: str
    score: Score
    figures: Mapping[str, float]
    parts: tuple[Part, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


def shortened(text: str, longest: int = 300) -> str:
    """A text as a cell shows it.

    >>> shortened("a long story", 6)
    'a lon…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"
