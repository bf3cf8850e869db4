"""What a report says of values: given ones beside expected ones, the largest errors; ranks of embedded partners."""

from collections.abc import Sequence

import numpy as np

from unmask.data.examples import TextExample
from unmask.data.ragged import Integers
from unmask.decode.embeddings import Embedded, cosines, normalised, ranks
from unmask.decode.labels import Valued
from unmask.tasks.embedding import PAIR, TEXT, TextEmbedding
from unmask.tasks.regression import Regression
from unmask.tasks.report_classes import WORST
from unmask.tasks.report_parts import Bars, Cell, Findings, Scatter, Table, shortened
from unmask.tasks.resampling import interval, interval_of
from unmask.tasks.task import Floats

MOST_POINTS = 1500  # of a scatter: more make the file large and the picture no clearer
RANKS = {"1": 1, "2": 2, "3": 3, "4–5": 5, "6–10": 10, "11–100": 100}  # a partner's rank, up to


def findings_of_values(task: Regression, examples: Sequence[TextExample], answers: Sequence[Valued]) -> Findings:
    """The scatter of values and the largest errors."""
    expected, given = [_value(example) for example in examples], [answer.value for answer in answers]
    return Findings(
        interval_of(task.metric, expected, given),
        (_scatter(expected, given), largest_errors(examples, expected, given)),
    )


def findings_of_vectors(task: TextEmbedding, examples: Sequence[TextExample], answers: Sequence[Embedded]) -> Findings:
    """The same of cosines; where pairs have no values, at which rank a text's partner is found."""
    firsts, seconds = (np.stack([answer.vectors[part] for answer in answers]) for part in (TEXT, PAIR))
    if task.loss != "regression":
        return _findings_of_partners(examples, firsts, seconds)
    spread = task.highest - task.lowest
    expected = [(_value(example) - task.lowest) / spread for example in examples]
    given = cosines(firsts, seconds).tolist()
    return Findings(
        interval_of(task.metric, expected, given),
        (_scatter(expected, given), largest_errors(examples, expected, given)),
    )


def _findings_of_partners(examples: Sequence[TextExample], firsts: Floats, seconds: Floats) -> Findings:
    before = ranks(firsts, seconds)
    worst = sorted(np.flatnonzero(before).tolist(), key=lambda number: -before[number])[:WORST]
    nearest = (normalised(firsts[worst]) @ normalised(seconds).T).argmax(1)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *(shortened(str(text)) for text in (examples[at].text, examples[at].pair, examples[near].pair)),
            int(before[at]) + 1,
        )
        for at, near in zip(worst, nearest, strict=True)
    )
    return Findings(
        interval(before == 0),
        (
            Bars("Ranks of partners", rank_counts(before + 1), "rank", "texts"),
            Table("Worst mistakes", ("text", "its partner", "the nearest", "rank"), rows, wide=True),
        ),
    )


def rank_counts(ranks: Integers) -> dict[str, int]:
    """How many texts find their partner at which rank.

    >>> rank_counts(np.array([1, 1, 4, 700]))
    {'1': 2, '2': 0, '3': 0, '4–5': 1, '6–10': 0, '11–100': 0, 'later': 1}
    """
    groups = np.searchsorted([*RANKS.values()], ranks)
    counts = np.bincount(groups, minlength=len(RANKS) + 1).tolist()
    return dict(zip((*RANKS, "later"), counts, strict=True))


def largest_errors(examples: Sequence[TextExample], expected: Sequence[float], given: Sequence[float]) -> Table:
    """The texts whose value is furthest from the expected one."""
    errors = np.array(given) - np.array(expected)
    rows = tuple(
        (
            shortened(examples[number].text),
            *((shortened(examples[number].pair or ""),) if examples[0].pair is not None else ()),
            expected[number],
            given[number],
            float(errors[number]),
        )
        for number in np.argsort(-np.abs(errors), kind="stable")[:WORST].tolist()
    )
    texts = ("text",) if examples[0].pair is None else ("text", "pair")
    mean = float(np.abs(errors).mean())
    return Table("Largest errors", (*texts, "expected", "given", "error"), rows, f"The mean error is {mean:.4f}.", True)


def _scatter(expected: Sequence[float], given: Sequence[float]) -> Scatter:
    every = -(-len(expected) // MOST_POINTS)
    note = f"Every {every}th example is drawn." if every > 1 else ""
    return Scatter("Given and expected", tuple(zip(expected[::every], given[::every], strict=True)), note)


def _value(example: TextExample) -> float:
    assert isinstance(example.label, float | int), "a value to compare with"
    return float(example.label)
