"""Answers a question from texts: a question and passages in, the best span of any of them out, or that none says it.

A passage is a text and where it comes from. Who has more texts than can be read chooses among them beforehand.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.predict import outputs_and_positions
from unmask.apps.reading import Report
from unmask.data.examples import QuestionExample
from unmask.decode.spans import Answered
from unmask.errors import InputError
from unmask.model.about import About
from unmask.runtime.folder import ServingFolder
from unmask.tasks.answering import Answering, window_of
from unmask.text.streams import decode, line_blocks
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead

ENDINGS = (".txt", ".md")


@dataclass(frozen=True)
class Passage:
    """A text that may hold an answer."""

    text: str
    source: str | None = None  # the file that it comes from
    start: int = 0  # its first character there


@dataclass(frozen=True)
class Found:
    """An answer, its places counted in the source of each candidate."""

    answered: Answered
    sources: tuple[str | None, ...]  # of the n-best

    @property
    def answer(self) -> str | None:
        """The words of the answer, if there is one."""
        return self.answered.answer

    @property
    def source(self) -> str | None:
        """Where the answer stands; none if there is none, or if nobody said what the text is from."""
        return None if self.answer is None else self.sources[0]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> from unmask.decode.spans import Span
        >>> span = Span("Ann", 0, 3, 1.0)
        >>> Found(Answered("Ann", 0, 3, 1.0, 0.0, (span,), 2.0), ("who.txt",)).to_dict()["source"]
        'who.txt'
        """
        told = self.answered.to_dict()
        nbest = [_with_source(span, source) for span, source in zip(told["nbest"], self.sources, strict=True)]
        return _with_source({**told, "nbest": nbest}, self.source)


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
        self.outputs, positions = outputs_and_positions(model)
        self.task = Answering.of(about, positions)

    def __call__(self, question: str, passages: str | Sequence[Passage], *, report: Report = lambda *_: None) -> Found:
        """The best answer that a text, or any of several passages, has to a question."""
        if not question.strip():
            raise InputError("an empty question", wanted="a question")
        given = [Passage(passages)] if isinstance(passages, str) else list(passages)
        rows = self.task.rows([QuestionExample(question, passage.text) for passage in given], self.tokenizer)
        outputs = self.outputs(rows, report=report)
        # All passages are one long text to the decoder, so that their windows compete with each other.
        begins = [0, *accumulate(len(passage.text) for passage in given)]
        windows = [window_of(row, output, begins[row.example]) for row, output in zip(rows, outputs, strict=True)]
        return _in_sources(self.task.answered("".join(passage.text for passage in given), windows), given, begins)


def read_passages(paths: Sequence[Path]) -> list[Passage]:
    """Each text file as one passage.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "who.txt"
    >>> _ = file.write_text("Ann sang.")
    >>> [passage.text for passage in read_passages([file])]
    ['Ann sang.']
    """
    for path in paths:
        if path.is_dir() or path.suffix.lower() not in ENDINGS:
            raise InputError(str(path), wanted=f"text files that end in {' or '.join(ENDINGS)}")
    found = [Passage("".join(decode(path, *block) for block in line_blocks(path)), str(path)) for path in paths]
    if not any(passage.text.strip() for passage in found):
        raise InputError(f"no text in {', '.join(map(str, paths))}", wanted="at least a sentence to find an answer in")
    return found


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
    return Found(told, tuple(passages[owner].source for owner in owners))


def _with_source(told: dict[str, Any], source: str | None) -> dict[str, Any]:
    return told if source is None else {**told, "source": source}
