"""Answers a question from texts: a question and passages in, the best span of any of them out, or that none says it.

A passage is a text and where it comes from. Who has more texts than can be read chooses among them beforehand.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.passages import sentence_around
from unmask.apps.predict import open_any, outputs_and_positions, the_model
from unmask.apps.reading import Report
from unmask.data.examples import QuestionExample
from unmask.decode.spans import Answered
from unmask.errors import InputError
from unmask.model.about import About
from unmask.runtime.folder import ServingFolder
from unmask.tasks.answering import Answering, window_of
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead

AHEAD = 16.0  # logits that a passage which fits a question has before one that does not at all (record documents)


@dataclass(frozen=True)
class Passage:
    """A text that may hold an answer."""

    text: str
    source: str | None = None  # the file that it comes from
    start: int = 0  # its first character there
    fit: float = 0.0  # how well it fits the question, 0 to 1


@dataclass(frozen=True)
class Found:
    """An answer, its places counted in the source of each candidate."""

    answered: Answered
    sources: tuple[str | None, ...]  # of the n-best
    sentences: tuple[str, ...] = ()  # that the n-best stand in; none if nobody said what the text is from
    fits: tuple[float, ...] = ()  # of the n-best's passages to the question

    @property
    def answer(self) -> str | None:
        """The words of the answer, if there is one."""
        return self.answered.answer

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> from unmask.decode.spans import Span
        >>> span = Span("Ann", 0, 3, 1.0)
        >>> answered = Answered("Ann", 0, 3, 1.0, 0.0, (span,), 2.0)
        >>> Found(answered, ("who.txt",), ("Ann sang.",)).to_dict()["source"]
        'who.txt'
        """
        told = self.answered.to_dict()
        origins = [self._origin(place) for place in range(len(self.sources))]
        nbest = [{**span, **origin} for span, origin in zip(told["nbest"], origins, strict=True)]
        return {**told, "nbest": nbest, **(origins[0] if self.answer is not None else {})}

    def _origin(self, place: int) -> dict[str, str]:
        source = self.sources[place]
        return {} if source is None else {"source": source, "sentence": self.sentences[place]}


class AnswerFinder:
    """Answers questions with a model that was fine-tuned for it, open in torch or exported.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import BertWithHead, make_head
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "who", "ann", "sang", "?", "."])
    >>> config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    >>> find = AnswerFinder(BertWithHead(Bert(config), make_head("span", config)), tokenizer, About("span"))
    >>> find("Who sang?", "Ann sang.").answer in "Ann sang."
    True
    """

    def __init__(self, model: "Bert | BertWithHead | ServingFolder", tokenizer: Tokenizer, about: About) -> None:
        if about.head != Answering.head:
            raise InputError(
                f"a model with the head {about.head!r}",
                wanted="one that was fine-tuned for answering",
                do="make one with: unmask finetune answer",
            )
        self.tokenizer = tokenizer
        self.outputs, positions = outputs_and_positions(model, tokenizer, about)
        self.task = Answering.of(about, positions)

    @classmethod
    def open(cls, name: Path | str, *, device: str = "cpu", threads: int | None = None) -> "AnswerFinder":
        """The finder of a model folder, a serving folder or a named model."""
        opened = open_any(name, device=device, threads=threads)
        return cls(the_model(opened), opened.tokenizer, opened.about)

    def __call__(self, question: str, passages: str | Sequence[Passage], *, report: Report = lambda *_: None) -> Found:
        """The best answer that a text, or any of several passages, has to a question."""
        if not question.strip():
            raise InputError("an empty question", wanted="a question")
        given = [Passage(passages)] if isinstance(passages, str) else list(passages)
        rows = self.task.rows([QuestionExample(question, passage.text) for passage in given], self.tokenizer)
        outputs = self.outputs(rows, report=report)
        # All passages are one long text to the decoder, so that their windows compete with each other.
        begins = [0, *accumulate(len(passage.text) for passage in given)]
        windows = [
            replace(window_of(row, output, begins[row.example]), ahead=AHEAD * given[row.example].fit)
            for row, output in zip(rows, outputs, strict=True)
        ]
        return _in_sources(self.task.answered("".join(passage.text for passage in given), windows), given, begins)


def _in_sources(found: Answered, passages: Sequence[Passage], begins: Sequence[int]) -> Found:
    """An answer in the joined text of passages, told by the places in their sources."""
    owners = [bisect_right(begins, span.start, hi=len(passages)) - 1 for span in found.nbest]
    moves = [passages[owner].start - begins[owner] for owner in owners]
    nbest = tuple(
        replace(span, start=span.start + move, end=span.end + move)
        for span, move in zip(found.nbest, moves, strict=True)
    )
    told = replace(found, nbest=nbest)
    if found.answer is not None:
        told = replace(told, start=nbest[0].start, end=nbest[0].end)
    owned = [passages[owner] for owner in owners]
    sentences = tuple(
        ""
        if passage.source is None
        else sentence_around(passage.text, span.start - passage.start, span.end - passage.start)
        for passage, span in zip(owned, nbest, strict=True)
    )
    sources, fits = tuple(passage.source for passage in owned), tuple(passage.fit for passage in owned)
    return Found(told, sources, sentences, fits)
