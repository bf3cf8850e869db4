"""What a report says of tagged words: types, how they were confused, and the sentences with most mistakes, marked."""

from collections.abc import Sequence
from itertools import groupby

from unmask.data.examples import TaggedExample
from unmask.decode.tags import Span, convert, spans_of
from unmask.tasks.report_classes import WORST, confusion
from unmask.tasks.report_parts import Findings, Mark, Table
from unmask.tasks.resampling import interval
from unmask.tasks.span_metrics import SpanReport, f1_of_sums, span_counts, span_report
from unmask.tasks.tagging import ANY_SCHEME, TaggedWords, Tagging

OUTSIDE = "O"
MOST_WORDS = 80  # of a sentence that is shown


def findings_of_tags(task: Tagging, examples: Sequence[TaggedExample], answers: Sequence[TaggedWords]) -> Findings:
    """Table and matrix of types, and the worst sentences."""
    expected = [convert(example.tags or (), ANY_SCHEME, task.scheme) for example in examples]
    given = [answer.tags for answer in answers]
    report = span_report(expected, given, task.scheme)
    wanted, said = ([type_of(tag) for tags in sentences for tag in tags] for sentences in (expected, given))
    labels = (OUTSIDE, *sorted({*wanted, *said} - {OUTSIDE}))
    return Findings(
        interval(span_counts(expected, given, task.scheme), f1_of_sums),
        (type_table(report), *confusion(wanted, said, labels), worst_sentences(examples, expected, given, task.scheme)),
    )


def type_table(report: SpanReport) -> Table:
    """Precision, recall and F1 of each type and of all."""
    scores = {**report.types, "all": report.overall}
    rows = tuple((name, s.precision, s.recall, s.f1, s.expected, s.given) for name, s in scores.items())
    return Table("Types", ("type", "precision", "recall", "F1", "expected", "given"), rows)


def type_of(tag: str) -> str:
    """The type that a word is of.

    >>> type_of("B-work-of-art"), type_of("O")
    ('work-of-art', 'O')
    """
    return tag.partition("-")[2] or OUTSIDE


def worst_sentences(
    examples: Sequence[TaggedExample], expected: Sequence[Sequence[str]], given: Sequence[Sequence[str]], scheme: str
) -> Table:
    """The sentences with most wrong spans; of equals the shorter, which say more."""
    found = []
    for example, tags, answers in zip(examples, expected, given, strict=True):
        wanted, said = spans_of(tags, scheme), spans_of(answers, scheme)
        wrong = len({*wanted} ^ {*said})
        if wrong:
            found.append((-wrong, len(example.words), (marked(example, wanted, said), wrong)))
    rows = tuple(row for *_, row in sorted(found, key=lambda item: item[:2])[:WORST])
    note = (
        f"{len(found):,} of {len(examples):,} sentences have a mistake; those with most first. A span is right, was "
        "missed, is wrong, or has another type (expected → given) or other ends than expected."
    )
    return Table(
        "Worst sentences", ("sentence", "mistakes"), rows, note if found else "No sentence has a mistake.", True
    )


def marked(example: TaggedExample, wanted: Sequence[Span], said: Sequence[Span]) -> tuple[Mark, ...]:
    """A sentence in stretches, each with what was expected of it and what was given.

    >>> example = TaggedExample("Ann saw Rome", ((0, 3), (4, 7), (8, 12)))
    >>> [(mark.text, mark.kind, mark.note) for mark in marked(example, [("PER", 0, 1)], [("PER", 0, 1), ("LOC", 2, 3)])]
    [('Ann', 'right', 'PER'), (' saw ', '', ''), ('Rome', 'wrong', 'LOC')]
    """
    owners = [(_owner(wanted, word), _owner(said, word)) for word in range(min(len(example.words), MOST_WORDS))]
    marks, place = [], 0
    for (span, answer), words in groupby(range(len(owners)), key=owners.__getitem__):
        if span is None and answer is None:
            continue
        numbers = [*words]
        start, end = example.words[numbers[0]][0], example.words[numbers[-1]][1]
        marks += [Mark(example.text[place:start]), Mark(example.text[start:end], *_judged(span, answer))]
        place = end
    rest = Mark(example.text[place : example.words[len(owners) - 1][1]])
    return tuple(mark for mark in (*marks, rest) if mark.text)


def _owner(spans: Sequence[Span], word: int) -> Span | None:
    return next((span for span in spans if span[1] <= word < span[2]), None)


def _judged(wanted: Span | None, said: Span | None) -> tuple[str, str]:
    """How a stretch stands to what was expected, and the types."""
    if wanted == said and wanted is not None:
        return "right", wanted[0]
    if said is None:
        return "missed", wanted[0] if wanted else ""
    if wanted is None:
        return "wrong", said[0]
    return "other", f"{wanted[0]} → {said[0]}" if wanted[0] != said[0] else f"{said[0]}, other ends"
