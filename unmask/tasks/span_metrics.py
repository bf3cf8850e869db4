"""Precision, recall and F1 of tagged spans, of each type and over all, by the rules of CoNLL's scorer, conlleval.

In: for each sentence the expected tags and the given ones. Out: fractions; a span counts when its type and both its
ends are right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmask.decode.tags import Span, spans_of
from unmask.tasks.metrics import f1_of_counts


@dataclass(frozen=True)
class SpanScore:
    """How many spans were expected, given and right."""

    expected: int
    given: int
    right: int

    @property
    def precision(self) -> float:
        """The share of given spans that are right.

        >>> SpanScore(expected=2, given=4, right=1).precision
        0.25
        """
        return self.right / self.given if self.given else 0.0

    @property
    def recall(self) -> float:
        """The share of expected spans that were found.

        >>> SpanScore(expected=2, given=4, right=1).recall
        0.5
        """
        return self.right / self.expected if self.expected else 0.0

    @property
    def f1(self) -> float:
        """Their harmonic mean, from the counts, so that it is rounded once.

        >>> SpanScore(expected=2, given=6, right=2).f1
        0.5
        """
        return float(f1_of_counts(self.right, self.expected, self.given))


@dataclass(frozen=True)
class SpanReport:
    """The score over all spans and of each type, and the share of words whose tag is right."""

    overall: SpanScore
    types: dict[str, SpanScore]
    accuracy: float


def span_report(expected: Sequence[Sequence[str]], given: Sequence[Sequence[str]], scheme: str = "IOB2") -> SpanReport:
    """Everything that conlleval prints.

    >>> report = span_report([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
    >>> report.overall, report.types["LOC"].recall, report.accuracy
    (SpanScore(expected=2, given=1, right=1), 0.0, 0.75)
    """
    wanted, found = _all_spans(expected, scheme), _all_spans(given, scheme)
    types = {
        name: _score({span for span in wanted if span[1] == name}, {span for span in found if span[1] == name})
        for name in sorted({type_ for _, type_, _, _ in wanted | found})
    }
    pairs = [pair for rows in zip(expected, given, strict=True) for pair in zip(*rows, strict=True)]
    words = sum(tag == answer for tag, answer in pairs) / len(pairs) if pairs else 0.0
    return SpanReport(_score(wanted, found), types, words)


def _all_spans(sentences: Sequence[Sequence[str]], scheme: str) -> set[tuple[int, str, int, int]]:
    return {(number, *span) for number, tags in enumerate(sentences) for span in spans_of(tags, scheme)}


def _score(wanted: set[tuple[int, str, int, int]], found: set[tuple[int, str, int, int]]) -> SpanScore:
    return SpanScore(expected=len(wanted), given=len(found), right=len(wanted & found))


def span_f1(expected: Sequence[Sequence[str]], given: Sequence[Sequence[str]], scheme: str = "IOB2") -> float:
    """F1 over all spans, CoNLL's one number.

    >>> round(span_f1([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]), 4)
    0.6667
    """
    counts = span_counts(expected, given, scheme)
    return float(f1_of_sums(counts[None])[0])


def span_counts(
    expected: Sequence[Sequence[str]], given: Sequence[Sequence[str]], scheme: str = "IOB2"
) -> NDArray[np.int64]:
    """For each sentence how many spans were right, expected and given, so that sentences can be drawn again.

    >>> span_counts([["B-PER", "B-LOC"], ["O"]], [["B-PER", "O"], ["B-LOC"]]).tolist()
    [[1, 2, 1], [0, 0, 1]]
    """  # (N, 3)
    rows = []
    for tags, answers in zip(expected, given, strict=True):
        wanted: set[Span] = set(spans_of(tags, scheme))
        found = set(spans_of(answers, scheme))
        rows.append((len(wanted & found), len(wanted), len(found)))
    return np.array(rows, np.int64).reshape(len(rows), 3)


def f1_of_sums(sample: NDArray[np.int64]) -> NDArray[np.float64]:
    """Span-F1 of each resampling of sentences: the statistic for `bootstrap_interval(span_counts(…), f1_of_sums)`.

    >>> f1_of_sums(np.array([[[1, 2, 1], [0, 0, 1]]]))
    array([0.5])
    """  # (R, N, 3) -> (R,)
    right, wanted, found = np.moveaxis(sample.sum(1), -1, 0)
    return f1_of_counts(right, wanted, found)
