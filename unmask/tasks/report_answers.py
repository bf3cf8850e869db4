"""What a report says of answers to questions: by kind of question and length of context, and the surest mistakes."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import QuestionExample
from unmask.decode.spans import Answered
from unmask.tasks.answering import Answering, usual_metrics
from unmask.tasks.cmrc_metrics import cmrc_scores, scores_by_language
from unmask.tasks.question_metrics import squad1_scores, squad2_scores
from unmask.tasks.report_classes import WORST
from unmask.tasks.report_parts import Cell, Findings, Mark, Table, shortened
from unmask.tasks.resampling import interval

Values = NDArray[np.float64]

QUESTION_KINDS = {  # the first that fits
    "how many": r"\bhow (many|much)\b|多少|几",
    "who": r"\bwho(m|se)?\b|谁",
    "when": r"\bwhen\b|什么时候|何时|哪年|哪一年",
    "where": r"\bwhere\b|哪里|哪儿|何处|在哪",
    "why": r"\bwhy\b|为什么|为何",
    "how": r"\bhow\b|如何|怎么|怎样",
    "which": r"\bwhich\b|哪",
    "what": r"\bwhat\b|什么|何",
}
SCORERS = {"squad1": squad1_scores, "squad2": squad2_scores, "cmrc": cmrc_scores, "both": scores_by_language}
AROUND = 60  # characters of the context that are shown on both sides
GROUPS = 4  # of contexts by length, of equal size


def findings_of_answers(task: Answering, examples: Sequence[QuestionExample], answers: Sequence[Answered]) -> Findings:
    """Figures by kind of question, by length and by whether there is an answer; the surest mistakes."""
    measure = SCORERS[task.metrics or usual_metrics(examples)]
    expected = [[answer.text for answer in example.answers or ()] for example in examples]
    scores = measure(expected, [answer.answer for answer in answers])
    values = np.array([scores.exact, scores.f1]).T  # (N, 2)
    lengths = [len(example.context) for example in examples]
    groups: list[tuple[str, list[str], list[int] | None]] = [
        ("Kinds of questions", [question_kind(example.question) for example in examples], None),
        ("Lengths of contexts", length_groups(lengths), lengths),
        ("Answers", ["there is one" if example.answers else "there is none" for example in examples], None),
    ]
    tables = [group_table(title, names, values, ranks) for title, names, ranks in groups if len(set(names)) > 1]
    return Findings(interval(scores.f1), (*tables, worst_answers(examples, answers, values[:, 1])))


def question_kind(question: str) -> str:
    """What is asked for, by its question word.

    >>> question_kind("In which year was it?"), question_kind("长城有多少年了？"), question_kind("Name one.")
    ('which', 'how many', 'other')
    """
    return next((kind for kind, words in QUESTION_KINDS.items() if re.search(words, question.lower())), "other")


def length_groups(lengths: Sequence[int]) -> list[str]:
    """Groups of like length and like size, each named by its longest.

    >>> length_groups([10, 20, 30, 4000])
    ['up to 10 characters', 'up to 20 characters', 'up to 30 characters', 'up to 4,000 characters']
    """
    limits = np.quantile(lengths, np.arange(1, GROUPS + 1) / GROUPS, method="inverted_cdf")
    return [f"up to {limits[np.searchsorted(limits, length)]:,} characters" for length in lengths]


def group_table(title: str, names: Sequence[str], values: Values, ranks: Sequence[int] | None = None) -> Table:
    """The mean figures of each group, the largest first; where questions have ranks, in the order of these.

    >>> table = group_table("", ["up to 9", "up to 20", "up to 20"], np.ones((3, 2)), [7, 12, 19])
    >>> [row[0] for row in table.rows]
    ['up to 9', 'up to 20']
    """
    kinds, owners, counts = np.unique(names, return_inverse=True, return_counts=True)
    rows = [
        (str(kind), int(counts[number]), *values[owners == number].mean(0).tolist())
        for number, kind in enumerate(kinds)
    ]
    if ranks is not None:
        lowest = [np.asarray(ranks)[owners == number].min() for number in range(len(kinds))]
        ordered = [rows[number] for number in np.argsort(lowest)]
    else:
        ordered = sorted(rows, key=lambda row: (-row[1], row[0]))
    return Table(title, ("", "questions", "exact match", "F1"), tuple(ordered))


def worst_answers(examples: Sequence[QuestionExample], answers: Sequence[Answered], scores: Values) -> Table:
    """Answers that are not right, the surest first."""
    ranked = sorted(np.flatnonzero(scores < 1).tolist(), key=lambda number: (scores[number], -answers[number].score))
    rows = tuple(_row(examples[number], answers[number], float(scores[number])) for number in ranked[:WORST])
    note = f"{len(ranked):,} of {len(examples):,} are not wholly right; the worst and surest first."
    return Table(
        "Worst mistakes",
        ("question", "context", "expected", "given", "F1", "probability"),
        rows,
        note if ranked else "None is wrong.",
        wide=True,
    )


def _row(example: QuestionExample, answer: Answered, score: float) -> tuple[Cell, ...]:
    expected = example.answers[0].text if example.answers else "no answer"
    given = answer.answer if answer.answer is not None else "no answer"
    texts = (shortened(example.question), snippet(example, answer), shortened(expected, 120), shortened(given, 120))
    return (*texts, score, answer.score)


def snippet(example: QuestionExample, answer: Answered) -> tuple[Mark, ...]:
    """The context around the expected answer and around the given one, both marked.

    >>> from unmask.data.examples import GivenAnswer
    >>> asked = QuestionExample("Who sang?", "Ann sang, Bob slept.", (GivenAnswer("Ann", 0),))
    >>> said = Answered("Bob", 10, 13, 0.5, 0.0, (), 0.0)
    >>> [(mark.text, mark.kind) for mark in snippet(asked, said)]
    [('Ann', 'missed'), (' sang, ', ''), ('Bob', 'wrong'), (' slept.', '')]
    """
    context = example.context
    wanted = [(place.start, place.start + len(place.text)) for place in (example.answers or ())[:1]]
    said = [(answer.start, answer.end)] if answer.start is not None and answer.end is not None else []
    kinds = np.zeros(len(context), np.int64)  # of characters: 1 expected, 2 given, 3 both
    shown = np.zeros(len(context), bool)
    for spans, kind in ((wanted, 1), (said, 2)):
        for start, end in spans:
            kinds[start:end] += kind
            shown[max(start - AROUND, 0) : end + AROUND] = True
    if not shown.any():
        shown[: 2 * AROUND] = True
    changes = np.flatnonzero(np.diff(kinds + 4 * shown)) + 1
    marks: list[Mark] = []
    for start, end in zip([0, *changes.tolist()], [*changes.tolist(), len(context)], strict=True):
        if start < end:
            marks.append(
                Mark(context[start:end], ("", "missed", "wrong", "right")[kinds[start]])
                if shown[start]
                else Mark(" … ")
            )
    return tuple(marks)
