"""Examples that are several texts, each read on its own: the endings of a choice, the two sides of a pair.

Texts of examples come in, rows that know their example and their part of it go out; outputs of rows become outputs of
texts again, the mean over the windows of a long one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.ragged import Integers
from unmask.data.rows import Row, text_rows
from unmask.tasks.classification import of_examples, pooled
from unmask.tasks.task import Floats, TaskBatch
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

Texts = Sequence[tuple[str, str | None]]  # of one example, each a text or a pair


def rows_of_texts(
    tokenizer: Tokenizer,
    examples: Sequence[Texts],
    *,
    longest: int,
    long_text: str = "head",
    targets: Sequence[NDArray[Any]] | None = None,
) -> list[Row]:
    """The rows of every text of every example; the numbers of `targets` for it follow the text's part in its target.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "b"])
    >>> examples = [[("a", None), ("b", None)], [("b", "a")]]
    >>> [(row.ids, row.example, row.part) for row in rows_of_texts(tokenizer, examples, longest=8)]
    [([2, 5, 3], 0, 0), ([2, 6, 3], 0, 1), ([2, 6, 3, 5, 3], 1, 0)]
    """
    places = [(number, part) for number, texts in enumerate(examples) for part in range(len(texts))]
    flat = [text for texts in examples for text in texts]
    rows = []
    for row in text_rows(tokenizer, flat, longest=longest, long_text=long_text):
        number, part = places[row.example]
        target = None if targets is None else np.concatenate([[part], targets[number][part]])
        rows.append(replace(row, example=number, part=part, target=target))
    return rows


def outputs_of_texts(count: int, rows: Sequence[Row], outputs: Sequence[Floats]) -> list[Floats]:
    """What the head said of each example: a line for each of its texts."""  # (texts, outputs) each
    keys = [(row.example, row.part) for row in rows]
    places = sorted(set(keys))
    if keys == places:  # the usual case, in which there are no windows: nothing to average
        found = np.stack(outputs)
    else:
        numbers = {place: number for number, place in enumerate(places)}
        numbered = [replace(row, example=numbers[key]) for row, key in zip(rows, keys, strict=True)]
        found = of_examples(len(places), numbered, outputs)
    if count == 1:
        return [found]
    return np.split(found, np.searchsorted([example for example, _ in places], np.arange(1, count)))


@dataclass(frozen=True)
class LearnedTexts:
    """The texts of a batch while it is learned, ordered by example and part."""

    outputs: "Tensor"  # (texts, outputs)
    examples: Integers  # (texts,) counted from 0
    parts: Integers  # (texts,)
    targets: NDArray[Any]  # (texts, …) without the part


def learned_texts(outputs: "Tensor", batch: TaskBatch) -> LearnedTexts:
    """The outputs of a batch's rows as outputs of its texts."""
    keys = np.stack([batch.groups, batch.targets[:, 0].astype(np.int64)], axis=1)
    places, first, owners = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return LearnedTexts(pooled(outputs, owners.ravel()), places[:, 0], places[:, 1], batch.targets[first, 1:])
