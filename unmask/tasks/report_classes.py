"""What a report says of classes: classification, several labels a text, and choosing among endings.

A task, its examples and answers in; the score's interval and the parts of the report out.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import ChoiceExample, TextExample
from unmask.decode.choices import Chosen
from unmask.decode.labels import Classified, MultiLabelled, calibration
from unmask.tasks import metrics
from unmask.tasks.choosing import Choosing
from unmask.tasks.classification import TEMPERATURE, Classification
from unmask.tasks.report_parts import Findings, Matrix, Part, Reliability, Table, shortened
from unmask.tasks.resampling import interval_of

MOST_LABELS = 24  # in a matrix; of more labels only those most often confused are told
WORST = 20  # mistakes that are shown


def findings_of_classes(
    task: Classification, examples: Sequence[TextExample], answers: Sequence[Classified]
) -> Findings:
    """Matrix, table of classes, calibration and the surest mistakes."""
    expected, given = [str(example.label) for example in examples], [str(answer.label) for answer in answers]
    commonest = Counter(expected).most_common(1)[0][0]
    measure = metrics.METRICS[task.metric]
    right = [wanted == said for wanted, said in zip(expected, given, strict=True)]
    temperature = task.thresholds.get(TEMPERATURE, 1.0)
    mistakes = [
        (answer.probabilities[said], (_shown(example), wanted, said, answer.probabilities[said]))
        for example, answer, wanted, said in zip(examples, answers, expected, given, strict=True)
        if wanted != said
    ]
    return Findings(
        interval_of(task.metric, expected, given),
        (
            *confusion(expected, given, task.labels),
            class_table(expected, given, task.labels),
            reliability([answer.probabilities for answer in answers], given, right, temperature),
            worst(mistakes, ("text", "expected", "given", "probability"), len(examples)),
        ),
        chance=measure(expected, [commonest] * len(expected)),
    )


def findings_of_labels(
    task: Classification, examples: Sequence[TextExample], answers: Sequence[MultiLabelled]
) -> Findings:
    """Where a text may have any number of labels: the table of labels, calibration and the surest mistakes."""
    expected = [
        set(example.label) if isinstance(example.label, tuple) else {str(example.label)} for example in examples
    ]
    sure = np.array([[answer.probabilities[label] for label in task.labels] for answer in answers])  # (N, labels)
    there = np.array([[label in wanted for label in task.labels] for wanted in expected])
    said = np.array([[label in answer.labels for label in task.labels] for answer in answers])
    rows = [
        (label, *_figures(int((there & said)[:, at].sum()), int(there[:, at].sum()), int(said[:, at].sum())))
        for at, label in enumerate(task.labels)
    ]
    off = np.where(there != said, np.where(said, sure, 1 - sure), 0.0).max(1)  # the surest wrong decision of each text
    mistakes = [
        (
            off[number],
            (_shown(examples[number]), _listed(expected[number]), _listed(answers[number].labels), off[number]),
        )
        for number in np.flatnonzero(off).tolist()
    ]
    return Findings(
        interval_of(task.metric, there, said),
        (
            Table("Labels", ("label", "precision", "recall", "F1", "expected", "given"), tuple(rows)),
            Reliability(
                "Calibration",
                {"labels": calibration(sure.ravel(), there.ravel())},
                "The probability of every label of every text, beside how often the text has it.",
            ),
            worst(mistakes, ("text", "expected", "given", "probability"), len(examples)),
        ),
    )


def findings_of_choices(task: Choosing, examples: Sequence[ChoiceExample], answers: Sequence[Chosen]) -> Findings:
    """The same as of classes, where the classes are the places of the endings."""
    expected = [str(int(example.label or 0) + 1) for example in examples]
    given = [str(answer.choice + 1) for answer in answers]
    places = tuple(str(number + 1) for number in range(max(len(example.endings) for example in examples)))
    named = [{str(place + 1): p for place, p in enumerate(answer.probabilities)} for answer in answers]
    right = [wanted == said for wanted, said in zip(expected, given, strict=True)]
    mistakes = [
        (odds[said], (_context(example), *(example.endings[int(n) - 1] for n in (wanted, said)), odds[said]))
        for example, odds, wanted, said in zip(examples, named, expected, given, strict=True)
        if wanted != said
    ]
    return Findings(
        interval_of(task.metric, expected, given),
        (
            *confusion(expected, given, places),
            class_table(expected, given, places),
            reliability(named, given, right, 1.0),
            worst(mistakes, ("context", "expected", "given", "probability"), len(examples)),
        ),
        chance=float(np.mean([1 / len(example.endings) for example in examples])),
    )


def confusion(expected: Sequence[str], given: Sequence[str], labels: Sequence[str]) -> list[Part]:
    """The matrix where it can be looked at; which labels were confused most often where there are several.

    >>> [part.title for part in confusion(["a", "b"], ["b", "b"], ["a", "b"])]
    ['Confusion matrix']
    """
    pairs = Counter(zip(expected, given, strict=True))
    parts: list[Part] = []
    if len(labels) <= MOST_LABELS:
        counts = tuple(tuple(pairs[wanted, said] for said in labels) for wanted in labels)
        parts.append(Matrix("Confusion matrix", tuple(labels), counts, "Expected labels downwards, given ones across."))
    confused = [(*pair, count) for pair, count in pairs.most_common() if pair[0] != pair[1]][:WORST]
    if len(labels) > 4 and confused:
        parts.append(Table("Most often confused", ("expected", "given", "examples"), tuple(confused)))
    return parts


def class_table(expected: Sequence[str], given: Sequence[str], labels: Sequence[str]) -> Table:
    """Precision, recall and F1 of each class.

    >>> class_table(["a", "b"], ["b", "b"], ["a", "b"]).rows[1]
    ('b', 0.5, 1.0, 0.6666666666666666, 1, 2)
    """
    wanted, said = Counter(expected), Counter(given)
    hits = Counter(label for label, other in zip(expected, given, strict=True) if label == other)
    rows = tuple((label, *_figures(hits[label], wanted[label], said[label])) for label in labels)
    return Table("Classes", ("class", "precision", "recall", "F1", "expected", "given"), rows)


def _figures(right: int, expected: int, given: int) -> tuple[float, float, float, int, int]:
    f1 = float(metrics.f1_of_counts(right, expected, given))
    return right / max(given, 1), right / max(expected, 1), f1, expected, given


def reliability(
    probabilities: Sequence[dict[str, float]], given: Sequence[str], right: Sequence[bool], temperature: float
) -> Reliability:
    """Calibration of the given answers, and as it was before the temperature, if there is one."""
    after = calibration([odds[said] for odds, said in zip(probabilities, given, strict=True)], right)
    if temperature == 1.0:
        return Reliability("Calibration", {"answers": after}, f"Expected calibration error {after.expected_error:.4f}.")
    before = calibration(
        [untempered(odds, temperature)[said] for odds, said in zip(probabilities, given, strict=True)], right
    )
    note = (
        f"Expected calibration error {before.expected_error:.4f} before, {after.expected_error:.4f} after the "
        f"temperature of {temperature:.2f}, which was chosen on these same examples."
    )
    return Reliability("Calibration", {"before temperature": before, "after": after}, note)


def untempered(probabilities: dict[str, float], temperature: float) -> dict[str, float]:
    """The probabilities as they were before logits were divided by a temperature: p is in proportion to q ** T.

    >>> round(untempered({"a": 1 / 3, "b": 2 / 3}, 2.0)["b"], 6)
    0.8
    """
    raised: NDArray[np.float64] = np.array([*probabilities.values()]) ** temperature
    return dict(zip(probabilities, (raised / raised.sum()).tolist(), strict=True))


def worst(mistakes: Sequence[tuple[float, tuple[Any, ...]]], columns: tuple[str, ...], examples: int) -> Table:
    """The surest mistakes, surest first."""
    ranked = sorted(mistakes, key=lambda mistake: -mistake[0])[:WORST]
    rows = tuple(tuple(shortened(cell) if isinstance(cell, str) else cell for cell in row) for _, row in ranked)
    note = f"{len(mistakes):,} of {examples:,} are wrong; the surest first."
    return Table("Worst mistakes", columns, rows, note if mistakes else "None is wrong.", wide=True)


def _shown(example: TextExample) -> str:
    return example.text if example.pair is None else f"{shortened(example.text, 150)} ‖ {shortened(example.pair, 150)}"


def _context(example: ChoiceExample) -> str:
    return f"{shortened(example.context, 200)} {shortened(example.question, 99)}".strip()


def _listed(labels: Any) -> str:
    return ", ".join(sorted(labels)) or "none"
