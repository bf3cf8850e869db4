"""A labelled data set in figures: examples to learn from and to measure on in, lengths, labels, repeats, leakage out.

Two texts are the same exactly, or nearly: when only case, blanks, marks or the width of characters differ. What dev
shares with train is leakage: a model can answer it from memory, and its score there says nothing.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unmask.data.examples import ChoiceExample, QuestionExample, TaggedExample, TextExample

MOST_SHOWN = 10  # shared texts
Key = tuple[str, ...]


@dataclass(frozen=True)
class Lengths:
    """How long texts are, in characters."""

    shortest: int
    median: int
    most: int  # 95 % are no longer
    longest: int


@dataclass(frozen=True)
class PartFigures:
    """The examples of one part: train or dev."""

    examples: int
    lengths: Lengths
    labels: dict[str, int]  # how often each occurs, the commonest first; nothing where there are no classes
    repeated: int  # examples whose texts occurred before, exactly
    nearly_repeated: int  # or nearly
    contradicted: int  # examples whose text has another label elsewhere in the part


@dataclass(frozen=True)
class Shared:
    """A text of dev that train has too."""

    text: str
    exact: bool
    train_label: str | None
    dev_label: str | None


@dataclass(frozen=True)
class Overview:
    """A data set in figures."""

    train: PartFigures
    dev: PartFigures | None
    leaked: int  # examples of dev that train has, exactly
    nearly_leaked: int  # or nearly
    shared: tuple[Shared, ...]  # some of them

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {**asdict(self), "shared": [asdict(one) for one in self.shared]}


def overview(train: Sequence[Any], dev: Sequence[Any] = ()) -> Overview:
    """The figures of examples of any task.

    >>> train = [TextExample("So good!", label="good"), TextExample("So good!", label="bad")]
    >>> found = overview(train, [TextExample("so good", label="good"), TextExample("new", label="bad")])
    >>> found.train.repeated, found.train.contradicted, found.leaked, found.nearly_leaked
    (1, 2, 0, 1)
    """
    exact = {texts_of(example): example for example in reversed(train)}
    near = {near_key(texts_of(example)): example for example in reversed(train)}
    shared = [(example, near[key]) for example in dev if (key := near_key(texts_of(example))) in near]
    exactly = sum(texts_of(example) in exact for example in dev)
    shown = tuple(_shared(example, twin) for example, twin in shared[:MOST_SHOWN])
    return Overview(figures_of(train), figures_of(dev) if dev else None, exactly, len(shared), shown)


def figures_of(examples: Sequence[Any]) -> PartFigures:
    """The figures of one part."""
    texts = [texts_of(example) for example in examples]
    nears = [near_key(key) for key in texts]
    sizes = np.array([sum(map(len, key)) for key in texts])
    counts = Counter(label for example in examples for label in labels_of(example))
    labels_by_text: dict[Key, set[tuple[str, ...]]] = {}
    for key, example in zip(nears, examples, strict=True):
        labels_by_text.setdefault(key, set()).add(labels_of(example))
    return PartFigures(
        examples=len(examples),
        lengths=Lengths(*(int(np.quantile(sizes, share, method="lower")) for share in (0.0, 0.5, 0.95, 1.0))),
        labels=dict(counts.most_common()),
        repeated=len(texts) - len(set(texts)),
        nearly_repeated=len(nears) - len(set(nears)),
        contradicted=0 if not counts else sum(len(labels_by_text[key]) > 1 for key in nears),
    )


def texts_of(example: Any) -> Key:
    """All that is read of an example.

    >>> texts_of(TextExample("A man.", "A dog."))
    ('A man.', 'A dog.')
    """
    match example:
        case TextExample():
            return (example.text,) if example.pair is None else (example.text, example.pair)
        case TaggedExample():
            return (example.text,)
        case QuestionExample():
            return (example.question, example.context)
        case ChoiceExample():
            return (example.context, example.question, *example.endings)
    raise AssertionError(f"no texts of {type(example)}")


def labels_of(example: Any) -> tuple[str, ...]:
    """The classes of a text, or the types of entities in a sentence; nothing where there are none."""
    if isinstance(example, TaggedExample):
        return tuple(tag[2:] for tag in example.tags or () if tag[:2] in ("B-", "S-")) or ("no entity",)
    label = example.label if isinstance(example, TextExample) else None
    return label if isinstance(label, tuple) else (label,) if isinstance(label, str) else ()


def near_key(texts: Iterable[str]) -> Key:
    """Texts without what may differ between copies; texts of nothing but marks stay as they are.

    >>> near_key(["So  GOOD!", "很 好。", "?!"])
    ('sogood', '很好', '?!')
    """
    return tuple(map(_near, texts))


@lru_cache(maxsize=1 << 14)  # a context comes with every question that is asked of it
def _near(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower())) or text


def _shared(example: Any, twin: Any) -> Shared:
    own, other = (", ".join(labels_of(one)) or None for one in (example, twin))
    return Shared(" | ".join(texts_of(example)), texts_of(example) == texts_of(twin), other, own)
