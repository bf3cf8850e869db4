"""What a preset is: all that fine-tuning knows of a public data set, from its files to the figures to compare with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from unmask.data.examples import Reading
from unmask.data.tables import Layout

Reader = Callable[..., Reading]  # (path, labelled=True): without labels where they are asked for
PARTS = ("train", "dev", "test")
SENTENCES = Layout(text=("sentence1",), pair=("sentence2",))  # the columns that most sets of pairs have
BINARY = ("0", "1")
INFERENCE = ("contradiction", "entailment", "neutral")


@dataclass(frozen=True)
class Recipe:
    """How the paper trained on a set."""

    learning_rates: tuple[float, ...] = (5e-5, 4e-5, 3e-5, 2e-5)  # the best on dev was taken
    epochs: int = 3
    batch_size: int = 32
    length: int = 128  # pieces that a text, or a window of it, may have


@dataclass(frozen=True)
class Preset:
    """What is known of a data set."""

    task: Literal["classify", "regress", "tag", "answer", "choose"]
    folder: str  # its name in the public distribution
    files: Mapping[str, tuple[str, ...]]  # its parts, each by the patterns of its file names, the usual one first
    read: Reader
    metrics: tuple[str, ...]  # the official one first
    labels: tuple[str, ...] = ()  # in the order of its own readers; none: in the order of check_labels
    pair: bool = False  # two texts each
    language: Literal["en", "zh"] = "en"
    recipe: Recipe = Recipe()
    published: Mapping[str, float] = field(default_factory=dict)  # part -> the official metric in percent
    source: str = ""  # where those figures are from
    submission: Mapping[str, str] = field(default_factory=dict)  # part -> the name of its answer file
    submitted_labels: Mapping[str, str] = field(default_factory=dict)  # what answer files call labels, if another name
