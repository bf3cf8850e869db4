"""Questions answered by a span of a context, or by nothing where the context does not say (SQuAD 1.1 and 2.0, CMRC).

Examples with a question and a context in, answers by characters of the original context out. Windows of a long context
are learned each for itself; one that does not hold the whole answer has to point at its [CLS].
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from unmask.data.examples import QuestionExample
from unmask.data.question_rows import WindowRow, question_rows
from unmask.data.rows import Row
from unmask.decode.spans import Answered, Window, answered
from unmask.errors import InputError
from unmask.model.about import About
from unmask.tasks.cmrc_metrics import cmrc_scores, scores_by_language
from unmask.tasks.question_metrics import (
    Answers,
    find_best_threshold,
    squad1_scores,
    squad2_report,
    squad2_scores,
)
from unmask.tasks.task import Floats, Losses, Task, TaskBatch
from unmask.text.tokenizer import CHINESE, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

LONGEST, STRIDE, LONGEST_QUESTION, LONGEST_ANSWER = 384, 128, 64, 30  # pieces, as published with SQuAD's recipe
NO_ANSWER = "no_answer"  # the threshold by which the best span must be better than none, in logits
FEW = 0.05  # questions of another language that do not make a set one of two languages
HAS_CHINESE = re.compile(f"[{CHINESE}]")
WORD = re.compile(rf"[{CHINESE}]|\w+?(?=[{CHINESE}]|\b)|[^\w\s]")


@dataclass(frozen=True)
class Answering(Task):
    """Where in the context is the answer?

    >>> from unmask.data.examples import GivenAnswer
    >>> asked = QuestionExample("Who sang?", "Ann sang.", (GivenAnswer("Ann", 0),))
    >>> Answering.learned_from([asked, replace(asked, answers=())]).thresholds
    {'no_answer': 0.0}
    """

    kind = "answer"
    head = "span"

    longest: int = LONGEST  # pieces of a question and a window of its context
    stride: int = STRIDE  # pieces between the beginnings of windows
    longest_answer: int = LONGEST_ANSWER  # pieces
    marked: bool = False  # words of the context that the question has too are marked, by a third segment
    metrics: str = ""  # squad1, squad2, cmrc or both languages; by the examples if none is named
    thresholds: Mapping[str, float] = field(default_factory=dict)  # without one for no answer there always is one

    @classmethod
    def learned_from(cls, examples: Sequence[QuestionExample], **options: Any) -> Self:
        """The task with answers as long as those of its examples, which may have none if some of them have none."""
        if options.pop("long_text", "windows") != "windows":
            raise InputError("another way to read long texts than windows", wanted="windows: answers stand anywhere")
        options.setdefault("longest_answer", longest_answer(examples))
        if any(example.answers == () for example in examples):
            options.setdefault("thresholds", {NO_ANSWER: 0.0})
        return cls(**options)

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        return cls(
            longest=about.max_length or min(longest, LONGEST),
            stride=about.stride or STRIDE,
            longest_answer=about.longest_answer or LONGEST_ANSWER,
            marked=bool(about.marked),
            thresholds=about.thresholds,
        )

    @property
    def about(self) -> dict[str, Any]:
        return {
            "max_length": self.longest,
            "stride": self.stride,
            "longest_answer": self.longest_answer,
            "marked": self.marked,
            "thresholds": dict(self.thresholds),
        }

    @property
    def outputs(self) -> int:
        return 2

    @property
    def segments(self) -> int:
        """A third one for what is marked."""
        return 3 if self.marked else 2

    @property
    def metric(self) -> str:
        return "f1"

    def rows(self, examples: Sequence[QuestionExample], tokenizer: Tokenizer) -> list[Row]:
        return [
            *question_rows(
                tokenizer,
                examples,
                longest=self.longest,
                stride=self.stride,
                longest_question=LONGEST_QUESTION,
                marked=self.marked,
            )
        ]

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        import torch
        import torch.nn.functional as F

        ragged = batch.ragged
        rows = torch.from_numpy(np.repeat(np.arange(len(ragged.lengths)), ragged.lengths))
        places = torch.from_numpy(ragged.positions)
        shape = len(ragged.lengths), int(ragged.lengths.max()), 2
        # Only these scores are padded, two numbers a token: behind a row's end nothing can begin or end.
        scores = outputs.new_full(shape, -torch.inf, dtype=torch.float32)  # (B, S, 2)
        scores[rows, places] = outputs.float()
        expected = torch.from_numpy(batch.targets).to(outputs.device)  # (B, 2)
        loss = F.cross_entropy(scores, expected, reduction="sum") / 2
        right = (scores.argmax(1) == expected).all(1).sum()
        return {"span": loss}, {"span_accuracy": right}

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        return {"span": float(len(batch.targets))}

    def answers(
        self, examples: Sequence[QuestionExample], rows: Sequence[Row], outputs: Sequence[Floats]
    ) -> list[Answered]:
        windows: list[list[Window]] = [[] for _ in examples]
        for row, output in zip(rows, outputs, strict=True):
            windows[row.example].append(window_of(row, output))
        return [self.answered(example.context, own) for example, own in zip(examples, windows, strict=True)]

    def answered(self, context: str, windows: Sequence[Window]) -> Answered:
        """The answer of one context from all of its windows."""
        threshold = self.thresholds.get(NO_ANSWER)
        return answered(context, windows, threshold=threshold, max_tokens=self.longest_answer)

    def scores(self, examples: Sequence[QuestionExample], answers: Sequence[Answered]) -> dict[str, float]:
        report = SCORERS[self.metrics or usual_metrics(examples)](_texts(examples), answers, self.thresholds)
        return {name.replace("exact", "exact_match"): report[name] for name in report if name.endswith(("exact", "f1"))}

    def calibrated(self, examples: Sequence[QuestionExample], rows: Sequence[Row], outputs: Sequence[Floats]) -> Self:
        """The same with the threshold that gives the best F1, where some questions have no answer."""
        if all(example.answers for example in examples):
            return self
        answers = self.answers(examples, rows, outputs)
        given, expected = _best_spans(answers), _texts(examples)
        doubts = [-answer.margin for answer in answers]
        _, most = find_best_threshold(
            [bool(texts) for texts in expected],
            given,
            squad2_scores(expected, given).f1,
            doubts,
            lowest=min(doubts) - 1,  # under the least doubt of all: nothing is answered
        )
        return replace(self, thresholds={**self.thresholds, NO_ANSWER: -most})


def window_of(row: Row, output: Floats, shift: int = 0) -> Window:
    """What the head said of a row, as decoding takes it; `shift` is added to the places in its context."""
    assert isinstance(row, WindowRow), "a row of a question"
    inside = slice(row.first, row.first + len(row.offsets))
    in_context, begins, finishes = np.zeros((3, len(output)), bool)
    offsets = np.zeros((len(output), 2), np.int64)
    in_context[inside], begins[inside], finishes[inside] = True, row.begins, row.finishes
    offsets[inside] = row.offsets + shift
    return Window(output[:, 0], output[:, 1], in_context, offsets, begins, finishes)


def usual_metrics(examples: Sequence[QuestionExample]) -> str:
    """How such questions are scored: as in SQuAD 2.0 where some have no answer, as in CMRC where they are Chinese.

    Where both languages are asked, each answer is scored by the rules of its own.

    >>> usual_metrics([QuestionExample("谁唱歌？", "安唱歌。", None)]), usual_metrics([QuestionExample("Who?", "", ())])
    ('cmrc', 'squad2')
    """
    if any(example.answers == () for example in examples):
        return "squad2"
    chinese = sum(bool(HAS_CHINESE.search(example.question)) for example in examples) / max(len(examples), 1)
    if FEW <= chinese <= 1 - FEW:
        return "both"
    return "cmrc" if chinese > 0.5 else "squad1"


def longest_answer(examples: Sequence[QuestionExample]) -> int:
    """A length that 99 of 100 answers have at most, in words, marks and Chinese characters; no less than published.

    >>> from unmask.data.examples import GivenAnswer
    >>> longest_answer([QuestionExample("谁？", "", (GivenAnswer("在" * 40, 0),))])
    40
    """
    lengths = [len(WORD.findall(answer.text)) for example in examples for answer in example.answers or ()]
    return max(LONGEST_ANSWER, int(np.quantile(lengths or [0], 0.99)))


def _squad2(expected: Answers, answers: Sequence[Answered], thresholds: Mapping[str, float]) -> dict[str, float]:
    """The official figures, which also say what the best threshold would have given."""
    doubts = [-answer.margin for answer in answers]
    threshold = -thresholds.get(NO_ANSWER, -np.inf)
    return squad2_report(expected, _best_spans(answers), doubts, threshold=threshold)


def _texts(examples: Sequence[QuestionExample]) -> list[list[str]]:
    return [[answer.text for answer in example.answers or ()] for example in examples]


def _given(answers: Sequence[Answered]) -> list[str | None]:
    return [answer.answer for answer in answers]


def _best_spans(answers: Sequence[Answered]) -> list[str | None]:
    """What would be answered if something had to be."""
    return [answer.nbest[0].answer if answer.nbest else None for answer in answers]


SCORERS: dict[str, Callable[[Answers, Sequence[Answered], Mapping[str, float]], dict[str, float]]] = {
    "squad1": lambda expected, answers, _: squad1_scores(expected, _given(answers)).report(),
    "squad2": _squad2,
    "both": lambda expected, answers, _: scores_by_language(expected, _given(answers)).report(),
    "cmrc": lambda expected, answers, _: cmrc_scores(expected, _given(answers)).report(),
}
