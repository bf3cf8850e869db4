"""The report of a fine-tuning: a task, its examples, answers and journal in, one HTML file with pictures out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unmask.data.examples import ChoiceExample, QuestionExample, TaggedExample, TextExample
from unmask.data.overview import overview
from unmask.files import write_text
from unmask.tasks.answering import Answering
from unmask.tasks.bias import BiasReport
from unmask.tasks.choosing import Choosing
from unmask.tasks.classification import Classification
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.regression import Regression
from unmask.tasks.report_answers import findings_of_answers
from unmask.tasks.report_classes import findings_of_choices, findings_of_classes, findings_of_labels
from unmask.tasks.report_data import bias_table, parts_of_data
from unmask.tasks.report_page import page
from unmask.tasks.report_parts import Bars, Findings, Lines, Part, Report, Score
from unmask.tasks.report_values import findings_of_values, findings_of_vectors
from unmask.tasks.report_words import findings_of_tags
from unmask.tasks.tagging import Tagging
from unmask.tasks.task import Task
from unmask.text.tokenizer import Tokenizer
from unmask.training.curve import smooth

REPORT = "report.html"
BINS = 12  # of a histogram, at most
MOST_POINTS = 400  # of a curve
SEVERAL = "windows"  # how long texts are read whole


def write_report(
    path: Path,
    *,
    title: str,
    task: Task,
    examples: Sequence[Any],
    answers: Sequence[Any],
    scores: Mapping[str, float],
    tokenizer: Tokenizer,
    journal_events: Iterable[Mapping[str, Any]] = (),
    settings: Mapping[str, Any] | None = None,
    train: Sequence[Any] = (),
    bias: BiasReport | None = None,
) -> None:
    """Writes the report as one file that needs no other; with the examples learned from it says what both share."""
    found = findings(task, examples, answers)
    *rest, mistakes = found.parts
    data = parts_of_data(overview(train, examples)) if train else []
    swapped = [bias_table(bias)] if bias is not None and bias.rows else []
    report = Report(
        title=title,
        task=task.kind,
        score=Score(task.metric, scores[task.metric], found.interval, len(examples), found.chance),
        figures=scores,
        parts=(
            *curves(journal_events, task.metric),
            *rest,
            lengths(task, examples, tokenizer),
            *data,
            *swapped,
            mistakes,
        ),
        settings=settings or {},
    )
    write_text(path, page(report))


def findings(task: Task, examples: Sequence[Any], answers: Sequence[Any]) -> Findings:
    """What is to be said of answers of a task."""
    if isinstance(task, Classification) and task.multi_label:
        return findings_of_labels(task, examples, answers)
    return FINDINGS[type(task)](task, examples, answers)


FINDINGS: dict[type[Task], Callable[[Any, Any, Any], Findings]] = {
    Classification: findings_of_classes,
    Regression: findings_of_values,
    Tagging: findings_of_tags,
    Answering: findings_of_answers,
    Choosing: findings_of_choices,
    TextEmbedding: findings_of_vectors,
}


def curves(events: Iterable[Mapping[str, Any]], metric: str) -> list[Part]:
    """The loss of training, smoothed, and the score on the examples set aside, over the steps of the run.

    A score that was measured once is no curve.

    >>> events = [{"step": 1, "loss": 0.7, "held_out": {"F1": 0.6}}, {"step": 2, "loss": 0.5, "held_out": {"F1": 0.8}}]
    >>> [(part.title, part.curve) for part in curves(events, "F1")]
    [('Loss', ((1, 0.7), (2, 0.5))), ('F1', ((1, 0.6), (2, 0.8)))]
    >>> [part.title for part in curves(events[:1], "F1")]
    ['Loss']
    """
    events = list(events)
    steps, losses = [e["step"] for e in events if "loss" in e], [e["loss"] for e in events if "loss" in e]
    smoothed = smooth(losses, max(1, len(losses) // 50)).tolist()
    every = max(1, len(steps) // MOST_POINTS)
    scores = tuple((e["step"], e["held_out"][metric]) for e in events if metric in e.get("held_out", {}))
    loss = tuple(zip(steps[::every], smoothed[::every], strict=True))
    parts = [Lines("Loss", loss, "loss", "Of the training examples, smoothed.")] if loss else []
    return [*parts, *([Lines(metric, scores, metric, "On the examples set aside.")] if len(scores) > 1 else [])]


def lengths(task: Task, examples: Sequence[Any], tokenizer: Tokenizer) -> Bars:
    """How long what is read is, and how much of it is longer than a row."""
    texts = [text for example in examples for text in texts_of(task, example)]
    pieces = iter(len(ids) for ids in tokenizer.ids_batch([part for text in texts for part in text]))
    sizes = np.array([1 + sum(next(pieces) + 1 for _ in text) for text in texts])  # [CLS] and a [SEP] behind each
    longer = int((sizes > task.longest).sum())
    whole = isinstance(task, Tagging | Answering) or getattr(task, "long_text", "") == SEVERAL
    fate = "read in several windows" if whole else "cut"
    note = (
        f"The median is {int(np.median(sizes)):,} pieces, the longest {sizes.max():,}; "
        f"{longer:,} of {len(sizes):,} have more than {task.longest:,} and were {fate}."
    )
    return Bars("Lengths", histogram(sizes), "pieces, up to", "texts", note)


def texts_of(task: Task, example: Any) -> list[tuple[str, ...]]:
    """The texts that are read of an example, each with what it is read together with."""
    match example:
        case TextExample():
            both = (example.text,) if example.pair is None else (example.text, example.pair)
            return [(text,) for text in both] if isinstance(task, TextEmbedding) else [both]
        case TaggedExample():
            return [(example.text,)]
        case QuestionExample():
            return [(example.question, example.context)]
        case ChoiceExample():
            return [(example.context, f"{example.question} {ending}".strip()) for ending in example.endings]
    raise AssertionError(f"no texts of {type(example)}")


def histogram(sizes: np.ndarray[Any, np.dtype[Any]]) -> dict[str, int]:
    """How many sizes fall under each of a few round limits.

    >>> histogram(np.array([3, 9, 17, 84]))
    {'10': 2, '20': 1, '30': 0, '40': 0, '50': 0, '60': 0, '70': 0, '80': 0, '90': 1}
    """
    rough = max(int(sizes.max()) / BINS, 1)
    step = next(step for power in range(9) for step in (10**power, 2 * 10**power, 5 * 10**power) if step >= rough)
    counts = np.bincount((sizes - 1) // step)
    return {f"{(number + 1) * step:,}": int(count) for number, count in enumerate(counts)}
