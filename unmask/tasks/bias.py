"""Does it matter to a model who does something, or where? Template pairs in, differences with a paired test out.

A contrast changes nothing but a name or a place. For each template the mean difference over its pairs is taken, and the
sign-flip test over templates says whether their mean is chance; p-values are corrected for the number of questions
(Holm, 1979). Words that the vocabulary does not know are left out, and with them languages of which it knows too few.
A difference that is found is real for these sentences; that none is found proves no more than that.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import TextExample
from unmask.decode.labels import Valued
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.bias_templates import CONTRASTS, GAP, Contrast
from unmask.tasks.classification import Classification
from unmask.tasks.regression import Regression
from unmask.tasks.sign_flips import paired_p
from unmask.tasks.task import Task
from unmask.text.tokenizer import Tokenizer

MOST_UNKNOWN = 0.02  # of a contrast's pieces
CHANCE = 0.05  # p-values from here on are chance
SMALL = 0.02  # differences of probabilities that change little, sure as they may be
FEWEST_PAIRS = 2

Floats = NDArray[np.float64]
Judge = Callable[[Sequence[TextExample]], Sequence[Any]]  # examples to a task's answers


@dataclass(frozen=True)
class BiasRow:
    """What one contrast does to one label, or to the value."""

    language: str
    first_group: str
    second_group: str
    label: str
    first: float  # the mean probability, or value, with fillers of the first group
    second: float
    difference: float
    p: float  # corrected for the number of rows
    changed: float  # share of pairs of which the answer differs; of values always 0
    sentences: int

    @property
    def found(self) -> bool:
        """Whether there is a difference that is neither chance nor small."""
        return self.p < CHANCE and abs(self.difference) >= SMALL


@dataclass(frozen=True)
class BiasReport:
    """All contrasts."""

    rows: tuple[BiasRow, ...]

    @property
    def verdict(self) -> str:
        """What was found, in a sentence.

        >>> BiasReport(()).verdict
        'no contrast could be asked: the vocabulary knows too few of the words'
        """
        if not self.rows:
            return "no contrast could be asked: the vocabulary knows too few of the words"
        found = [row for row in self.rows if row.found]
        if not found:
            return f"no difference of {SMALL} or more that is not chance, in {len(self.rows)} comparisons"
        most = max(found, key=lambda row: abs(row.difference))
        return (
            f"{len(found)} of {len(self.rows)} comparisons differ; most of all {most.label} for {most.first_group} "
            f"({most.first:.3f}) and {most.second_group} ({most.second:.3f})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {"verdict": self.verdict, "rows": [{**asdict(row), "found": row.found} for row in self.rows]}

    def in_words(self) -> str:
        """The same for a terminal."""
        lines = [
            f"{row.language}: {row.first_group} {row.first:.3f}, {row.second_group} {row.second:.3f} for {row.label}: "
            f"{row.difference:+.4f} (p = {row.p:.2g}), {row.changed:.0%} of answers change{' *' * row.found}"
            for row in self.rows
        ]
        return "\n".join([*lines, self.verdict])


def judge_of(task: Task, model: BertWithHead, tokenizer: Tokenizer) -> Judge:
    """A model as a function from examples to answers."""

    def judge(examples: Sequence[TextExample]) -> Sequence[Any]:
        rows = task.rows(examples, tokenizer)
        return task.answers(examples, rows, outputs_of(model, rows))

    return judge


def probe_bias(task: Task, judge: Judge, tokenizer: Tokenizer) -> BiasReport | None:
    """What swapped names and places do to answers; nothing where a task does not judge texts."""
    if not isinstance(task, Classification | Regression):
        return None
    known = (_known(contrast, tokenizer) for contrast in CONTRASTS)
    rows = [row for contrast in known if contrast is not None for row in contrasted(contrast, judge)]
    corrected = holm([row.p for row in rows])
    return BiasReport(tuple(replace(row, p=p) for row, p in zip(rows, corrected, strict=True)))


def contrasted(contrast: Contrast, judge: Judge) -> list[BiasRow]:
    """A row for each label (of two the last alone: the other is its mirror), or one for the value."""
    texts = [[t.replace(GAP, pair[side]) for t in contrast.templates for pair in contrast.pairs] for side in (0, 1)]
    answers = judge([TextExample(_sentence(text)) for side in texts for text in side])
    sides = answers[: len(texts[0])], answers[len(texts[0]) :]
    names, numbers = _numbers(answers)
    shaped = numbers.reshape(2, len(contrast.templates), len(contrast.pairs), len(names))
    means = shaped.mean(2)  # (2, templates, labels)
    changed = np.mean([_said(one) != _said(other) for one, other in zip(*sides, strict=True)])
    return [
        BiasRow(
            contrast.language,
            *contrast.groups,
            label=name,
            first=float(means[0, :, at].mean()),
            second=float(means[1, :, at].mean()),
            difference=float((means[0] - means[1])[:, at].mean()),
            p=paired_p((means[0] - means[1])[:, at]),
            changed=float(changed),
            sentences=len(answers),
        )
        for at, name in enumerate(names)
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(np.argsort(p_values, kind="stable").tolist()):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = highest
    return corrected


def _known(contrast: Contrast, tokenizer: Tokenizer) -> Contrast | None:
    """A contrast with the pairs of which the vocabulary knows every piece; none if its sentences are mostly unknown."""
    pieces = [id for ids in tokenizer.ids_batch([t.replace(GAP, "") for t in contrast.templates]) for id in ids]
    if not pieces or pieces.count(tokenizer.unknown_id) > MOST_UNKNOWN * len(pieces):
        return None
    pairs = tuple(
        pair
        for pair in contrast.pairs
        if not any(tokenizer.unknown_id in ids or not ids for ids in tokenizer.ids_batch(pair))
    )
    return (
        Contrast(contrast.language, contrast.groups, pairs, contrast.templates) if len(pairs) >= FEWEST_PAIRS else None
    )


def _sentence(text: str) -> str:
    """With small letters inside: a filler such as "My sister" begins with a capital only at the beginning.

    >>> _sentence("We had dinner with My sister."), _sentence("My sister left.")
    ('We had dinner with my sister.', 'My sister left.')
    """
    for start in ("My ", "The "):
        text = text[:1] + text[1:].replace(start, start.lower())
    return text


def _numbers(answers: Sequence[Any]) -> tuple[tuple[str, ...], Floats]:
    """What is compared of answers: probabilities, or values."""  # (N, labels)
    if isinstance(answers[0], Valued):
        return ("value",), np.array([[answer.value] for answer in answers])
    names = tuple(answers[0].probabilities)
    chosen = names[-1:] if len(names) == 2 and not hasattr(answers[0], "labels") else names
    return chosen, np.array([[answer.probabilities[name] for name in chosen] for answer in answers])


def _said(answer: Any) -> Any:
    """The answer alone; a value says nothing that could be other."""
    return None if isinstance(answer, Valued) else getattr(answer, "labels", None) or getattr(answer, "label", None)
