"""The report of a fine-tuning: every kind of task, figures that agree with obvious ones, and nothing that runs."""

import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from unmask.data.examples import ChoiceExample, GivenAnswer, QuestionExample, TaggedExample, TextExample
from unmask.decode.choices import Chosen
from unmask.decode.embeddings import Embedded
from unmask.decode.labels import Classified, MultiLabelled, Valued, classified
from unmask.decode.spans import Answered, Span
from unmask.tasks.answering import Answering
from unmask.tasks.bias import BiasReport, BiasRow
from unmask.tasks.choosing import Choosing
from unmask.tasks.classification import TEMPERATURE, Classification
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.regression import Regression
from unmask.tasks.report import findings, write_report
from unmask.tasks.report_classes import class_table, untempered
from unmask.tasks.report_parts import Matrix, Part, Reliability, Table
from unmask.tasks.tagging import TaggedWords, Tagging
from unmask.tasks.task import Task
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, "the", "day", "was", "fine", "dull", "very"])
EVIL = '<script>alert("x")</script>'
EVENTS = [
    {"step": n, "loss": 1 / n, **({"held_out": {"accuracy": n / 100}} if n % 10 == 0 else {})} for n in range(1, 90)
]
COUNT = 60


def chance() -> np.random.Generator:
    return np.random.default_rng(4)


def classes(labels: tuple[str, ...] = ("dull", "fine")) -> tuple[Task, list[Any], list[Any]]:
    logits = chance().normal(size=(COUNT, len(labels))).astype(np.float32) * 3
    right = np.where(chance().random(COUNT) < 0.8, logits.argmax(-1), 0)
    examples = [TextExample(f"the day was {n} " * (n % 30 + 1), label=labels[at]) for n, at in enumerate(right)]
    return (
        Classification(labels, thresholds={TEMPERATURE: 2.0}),
        examples,
        list(classified(logits, labels, temperature=2.0)),
    )


def labels() -> tuple[Task, list[Any], list[Any]]:
    sure = chance().random((COUNT, 2))
    examples = [TextExample("the day", label=("warm",) if n % 2 else ()) for n in range(COUNT)]
    answers = [
        MultiLabelled(
            tuple(name for name, p in zip(("dry", "warm"), row, strict=True) if p > 0.5),
            {"dry": row[0], "warm": row[1]},
        )
        for row in sure.tolist()
    ]
    return Classification(("dry", "warm"), multi_label=True, metrics=("micro_f1", "macro_f1")), examples, answers


def values() -> tuple[Task, list[Any], list[Any]]:
    examples = [TextExample("the day", "was fine", label=n / 10) for n in range(COUNT)]
    return Regression(), examples, [Valued(n / 10 + error) for n, error in enumerate(chance().normal(size=COUNT))]


def tags() -> tuple[Task, list[Any], list[Any]]:
    example = TaggedExample("Ann Lee saw Rome", ((0, 3), (4, 7), (8, 11), (12, 16)), ("B-PER", "I-PER", "O", "B-LOC"))
    given = [("B-PER", "I-PER", "O", "B-LOC"), ("B-PER", "O", "B-LOC", "O")]
    answers = [TaggedWords(given[n % 2], "IOB2", ()) for n in range(COUNT)]
    return Tagging(("O", "B-LOC", "I-LOC", "B-PER", "I-PER")), [example] * COUNT, answers


def answers() -> tuple[Task, list[Any], list[Any]]:
    context = "Ann sang in the mill. " * 20 + "Bob slept. " + "The day was fine. " * 20
    asked = [QuestionExample(q, context, (GivenAnswer("Ann", 0),)) for q in ("Who sang?", "谁睡了？", "What was fine?")]
    spans = [Span(name, context.index(name), context.index(name) + 3, 0.9) for name in ("Ann", "Bob")]
    given = [Answered(span.answer, span.start, span.end, 0.9, 0.0, (span,), 1.0) for span in spans]
    return Answering(), [*asked, QuestionExample("When?", context, ())], [*given, given[1], given[0]]


def choices() -> tuple[Task, list[Any], list[Any]]:
    examples = [ChoiceExample("The day was", ("fine", "dull", "very"), label=n % 3) for n in range(COUNT)]
    return Choosing(), examples, [Chosen(n % 2, (0.5, 0.3, 0.2)) for n in range(COUNT)]


def vectors(loss: str) -> tuple[Task, list[Any], list[Any]]:
    examples = [
        TextExample("the day", f"was {n}", label=n / COUNT if loss == "regression" else None) for n in range(COUNT)
    ]
    return (
        TextEmbedding(loss=loss),
        examples,
        [Embedded(v) for v in chance().normal(size=(COUNT, 2, 8)).astype(np.float32)],
    )


KINDS: dict[str, Callable[[], tuple[Task, list[Any], list[Any]]]] = {
    "classes": classes,
    "many classes": lambda: classes(tuple(f"class {n}" for n in range(30))),
    "labels": labels,
    "values": values,
    "tags": tags,
    "answers": answers,
    "choices": choices,
    "cosines": lambda: vectors("regression"),
    "partners": lambda: vectors("contrastive"),
}


def written(path: Path, task: Task, examples: list[Any], given: list[Any], **more: Any) -> str:
    write_report(
        path / "report.html",
        title=more.pop("title", "a report"),
        task=task,
        examples=examples,
        answers=given,
        scores=task.scores(examples, given),
        tokenizer=TOKENIZER,
        journal_events=EVENTS,
        settings={"epochs": 3},
        train=more.get("train", ()),
        bias=more.get("bias"),
    )
    return (path / "report.html").read_text(encoding="utf-8")


class Strict(HTMLParser):
    """Remembers every element, and that each is closed in its turn."""

    EMPTY = ("meta", "!doctype", "rect", "line", "circle", "polyline")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_has_a_report_that_is_whole_and_alone(kind: str, tmp_path: Path) -> None:
    task, examples, given = KINDS[kind]()
    text = written(tmp_path, task, examples, given)
    page = Strict()
    page.feed(text)
    assert not page.open
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.seen}
    assert not [value for _, attributes in page.seen for name, value in attributes.items() if name in ("src", "href")]
    assert f"{task.scores(examples, given)[task.metric]:.4f}" in text
    assert "nan" not in re.findall(r">\s*(nan)\s*<", text)
    low, high = findings(task, examples, given).interval or (0, 0)
    assert low <= task.scores(examples, given)[task.metric] <= high


def test_what_comes_from_data_is_never_markup(tmp_path: Path) -> None:
    task = Classification((EVIL, "fine"))
    examples = [TextExample(EVIL, label=EVIL), TextExample(EVIL, EVIL, label="fine")]
    given = [Classified("fine", {EVIL: 0.2, "fine": 0.8}), Classified(EVIL, {EVIL: 0.9, "fine": 0.1})]
    text = written(tmp_path, task, examples, given, title=EVIL)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    sentence = TaggedExample(f"{EVIL} x", ((0, len(EVIL)), (len(EVIL) + 1, len(EVIL) + 2)), ("B-<b>", "O"))
    tagging, answer = Tagging(("O", "B-<b>", "I-<b>")), TaggedWords(("O", "B-<b>"), "IOB2", ())
    assert "<script" not in (text := written(tmp_path, tagging, [sentence], [answer]))
    assert "<b>" not in text
    question = QuestionExample(f"who {EVIL}", f"{EVIL} sang", (GivenAnswer("sang", len(EVIL) + 1),))
    assert "<script" not in written(
        tmp_path, Answering(), [question], [Answered(EVIL, 0, len(EVIL), 0.5, 0.0, (), 0.0)]
    )


def test_the_table_of_classes_is_that_of_scikit_learn() -> None:
    names = ("a", "b", "c")
    expected, given = np.random.default_rng(1).choice(names, (2, COUNT)).tolist()
    theirs = precision_recall_fscore_support(expected, given, labels=names)
    rows = class_table(expected, given, names).rows
    assert np.allclose(np.array([row[1:5] for row in rows], dtype=float), np.array(theirs).T)


def test_calibration_before_the_temperature_is_that_of_the_logits() -> None:
    logits = chance().normal(size=(9, 4)).astype(np.float32)
    before, after = (classified(logits, list("abcd"), temperature=t) for t in (1.0, 1.7))
    for raw, tempered in zip(before, after, strict=True):
        assert untempered(tempered.probabilities, 1.7) == pytest.approx(raw.probabilities)
    parts = _by_type(*classes())
    assert list(parts[Reliability].calibrations) == ["before temperature", "after"]


def test_mistakes_are_told_surest_first_and_rows_of_the_matrix_are_whole() -> None:
    task, examples, given = classes()
    table = next(part for part in findings(task, examples, given).parts if part.title == "Worst mistakes")
    assert isinstance(table, Table)
    odds = [float(row[3]) for row in table.rows]  # type: ignore[arg-type]
    assert odds == sorted(odds, reverse=True)
    assert all(row[1] != row[2] for row in table.rows)
    matrix = _by_type(task, examples, given)[Matrix]
    assert sum(map(sum, matrix.counts)) == COUNT


def _by_type(task: Task, examples: list[Any], given: list[Any]) -> dict[type[Part], Any]:
    return {type(part): part for part in findings(task, examples, given).parts}


def test_longer_texts_are_counted(tmp_path: Path) -> None:
    task = Classification(("dull", "fine"), longest=6)
    examples = [TextExample("the day was", label="fine"), TextExample("the day was very very fine", label="fine")]
    given = [Classified("fine", {"dull": 0.1, "fine": 0.9})] * 2
    assert "1 of 2 have more than 6 and were cut" in written(tmp_path, task, examples, given)


@pytest.mark.slow
def test_a_browser_shows_it_without_complaint(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium on this machine")
    written(tmp_path, *classes())
    quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    asked = [browser, "--headless", "--no-sandbox", *quiet, f"--user-data-dir={tmp_path / 'profile'}"]
    watched = [*asked, "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"]
    run = subprocess.run([*watched, (tmp_path / "report.html").as_uri()], capture_output=True, text=True, timeout=120)
    assert "Confusion matrix" in run.stdout
    assert "CONSOLE" not in run.stderr


def test_a_report_says_what_train_and_dev_share_and_what_swapped_names_do(tmp_path: Path) -> None:
    task, examples, given = classes()
    row = BiasRow("English", "<women>", "men", "good", 0.6, 0.5, 0.1, 0.001, 0.25, 112)
    page = written(tmp_path, task, examples, given, train=[*examples[:3]], bias=BiasReport((row,)))
    assert "In train and dev" in page
    assert "Swapped names and places" in page
    assert "&lt;women&gt; / men" in page
    assert "1 of 1 comparisons differ" in page
    Strict().feed(page)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_every_task_have_their_data_shown(kind: str, tmp_path: Path) -> None:
    task, examples, given = KINDS[kind]()
    assert "repeated exactly" in written(tmp_path, task, examples, given, train=examples)
