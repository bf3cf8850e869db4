"""Which training examples does the model take to be like this one? Examples in, the nearest by representation out.

A representation is what the head reads: the pooled [CLS] of a classifier, else the mean of the last layer; windows of a
long text are averaged. Examples that are the asked text itself are marked, and copies of one another are shown once.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.data.batches import batches_by_length
from unmask.data.overview import Key, labels_of, near_key, texts_of
from unmask.errors import InputError
from unmask.explain.subjects import as_example
from unmask.model.folder import ModelFolder
from unmask.model.heads import pool
from unmask.tasks.classification import of_examples
from unmask.tasks.kinds import task_of

Floats = NDArray[np.float32]
Report = Callable[[int, int], None]  # told after each batch: tokens done, tokens in all


@dataclass(frozen=True)
class Near:
    """A training example and how near it is."""

    texts: tuple[str, ...]
    label: str | None
    cosine: float
    same: bool  # the asked text itself, but for case, blanks and marks
    copies: int  # how often train has it

    def in_words(self) -> str:
        """The same for a terminal."""
        marks = " (the same text)" * self.same + f" ({self.copies} copies)" * (self.copies > 1)
        return f"{self.cosine:.3f}  {self.label or ''}  {' | '.join(self.texts)}{marks}"


@dataclass(frozen=True)
class Nearest:
    """The nearest of so many examples."""

    rows: tuple[Near, ...]
    examples: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {"examples": self.examples, "rows": [{**asdict(row), "texts": list(row.texts)} for row in self.rows]}

    def in_words(self) -> str:
        """The same for a terminal."""
        return "\n".join([f"nearest of {self.examples:,} training examples", *(row.in_words() for row in self.rows)])

    def as_html(self) -> str:
        """The same as a piece of a page."""
        lines = "".join(
            f"<tr><td>{row.cosine:.3f}</td><td class='text'>{escape(row.label or '')}</td>"
            f"<td class='text'>{escape(' | '.join(row.texts))}{' <b>the same text</b>' * row.same}"
            f"{f' ({row.copies} copies)' * (row.copies > 1)}</td></tr>"
            for row in self.rows
        )
        head = "<tr><th>cosine</th><th class='text'>label</th><th class='text'>text</th></tr>"
        note = f"By the cosine of what the head reads, of {self.examples:,} examples."
        return f"<h2>Nearest training examples</h2><p class='note'>{note}</p><table>{head}{lines}</table>"


def nearest_examples(
    opened: ModelFolder, example: Any, train: Sequence[Any], *, top: int = 5, report: Report = lambda *_: None
) -> Nearest:
    """The training examples whose representation is nearest to that of an example."""
    asked = as_example(example, opened.about.head)
    copies = Counter(near_key(texts_of(one)) for one in train)
    first: dict[Key, Any] = {}
    for one in train:
        first.setdefault(near_key(texts_of(one)), one)
    vectors = representations(opened, [asked, *first.values()], report)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12
    cosines = vectors[1:] @ vectors[0]
    keys, rows = list(first), []
    for number in np.argsort(-cosines, kind="stable")[:top].tolist():
        key, one = keys[number], first[keys[number]]
        label = ", ".join(labels_of(one)) or None
        rows.append(Near(texts_of(one), label, float(cosines[number]), key == near_key(texts_of(asked)), copies[key]))
    return Nearest(tuple(rows), len(train))


def representations(opened: ModelFolder, examples: Sequence[Any], report: Report = lambda *_: None) -> Floats:
    """What the head reads of each example."""  # (N, D)
    if opened.about.head not in ("classes", "regression"):
        raise InputError(
            f"nearest examples of a model for {opened.about.task or opened.about.head or 'encoding'}",
            wanted="a model that gives texts a class or a value",
        )
    plain = [type(one)(one.text, one.pair) for one in examples]
    rows = task_of(opened.about, opened.config.positions).rows(plain, opened.tokenizer)
    vectors = [np.empty(0, np.float32)] * len(rows)
    done, total = 0, sum(len(row.ids) for row in rows)
    for which, batch in batches_by_length([row.ids for row in rows], [row.segments for row in rows]):
        with torch.inference_mode():
            encoded = opened.bert(batch, rows=batch.starts if opened.bert.pooler is not None else None)
            pooled = encoded.pooled if encoded.pooled is not None else pool(encoded.hidden, encoded, "mean")
        for row, vector in zip(which.tolist(), batch.restore(pooled.float().cpu().numpy()), strict=True):
            vectors[row] = vector
        done += len(batch.ids)
        report(done, total)
    return of_examples(len(examples), rows, vectors)
