"""Questions answered from documents: passages are found by words and vectors, the best are read, the answer is a span.

A question in; the answer with its sentence, its file and its characters out, or that the documents do not say it.

A passage that speaks of what the question is about goes before one that does not, whatever the reader thinks; and where
the best answer's passage does not speak of it, the documents do not say it: a reader that was never shown a question
without an answer finds one in any text.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unmask.apps.answer import AnswerFinder, Found, Passage
from unmask.apps.document_index import DocumentIndex, open_index
from unmask.apps.reading import Report
from unmask.apps.refusing import Refused, fault_of_words
from unmask.decode.spans import Answered
from unmask.errors import InputError
from unmask.retrieve.fusion import fuse
from unmask.retrieve.nearest import Nearest
from unmask.retrieve.topic import covered

READER = "default:answers"
READ = 10  # passages that are read for a question, unless asked otherwise
RANKED = 50  # passages of each ranking that are fused
LEAST_FIT = 0.4  # of a passage to the question, below which its answer is none (record documents)
STEEPNESS = 10.0  # of the probability that it is one, about that point
NOT_THERE = Found(Answered(None, None, None, 1.0, 1.0, (), -np.inf), ())


@dataclass(frozen=True)
class Documents:
    """Documents, ready to be asked.

    An encoder that was taught to embed counts as much as words do. One that never was finds little, and would push
    aside what words have found (see the record of retrieval): it only fills the places that words leave.
    """

    index: DocumentIndex
    reader: AnswerFinder

    def __call__(self, question: str, *, top: int = READ, report: Report = lambda *_: None) -> Found:
        """The answer to one question; one that cannot be read is an error."""
        fault = fault_of_words(question, "question")
        if fault is not None:
            raise InputError(fault.error.removeprefix("got "))
        few = len(self.index.passages) <= top
        chosen = range(len(self.index.passages)) if few else best_passages(self.index, [question], top)[0]
        passages = merged(fitting(self.index, question, [*chosen]))
        return doubted(self.reader(question, passages, report=report)) if passages else NOT_THERE

    def many(self, questions: Sequence[str], *, top: int = READ) -> list[Found | Refused]:
        """An answer for each question, or what is wrong with it."""
        return [fault_of_words(question, "question") or self(question, top=top) for question in questions]


def open_documents(
    folder: Path | str,
    reader: str | Path | AnswerFinder | None = None,
    *,
    device: str = "cpu",
    threads: int | None = None,
) -> Documents:
    """Opens an index to be asked, with the reader given or the one that the index names."""
    index, fields = open_index(Path(folder), device=device, threads=threads)
    if not isinstance(reader, AnswerFinder):
        reader = AnswerFinder.open(reader or fields.get("reader") or READER, device=device, threads=threads)
    return Documents(index, reader)


def best_passages(index: DocumentIndex, questions: Sequence[str], top: int) -> list[list[int]]:
    """The places of the passages that fit each question best, best first; none where nothing fits.

    >>> from unmask.retrieve.lexical import Lexical
    >>> passages = tuple(Passage(text) for text in ("Rain fell.", "The keeper lit the lamp.", "Snow."))
    >>> best_passages(DocumentIndex((), (), passages, Lexical.of(p.text for p in passages)), ["Who lit it?"], 2)
    [[1]]
    """
    pool = max(top, RANKED)
    by_words = [[place for place, _ in index.lexical.best(question, pool)] for question in questions]
    if index.space is None or index.vectors is None:
        return [ranking[:top] for ranking in by_words]
    near, _ = Nearest(index.vectors).best(index.space(questions), pool)
    weights = (1.0, 1.0 if index.space.encoder.taught else 0.0)
    return [
        [place for place, _ in fuse(rankings, weights=weights)[:top]]
        for rankings in zip(by_words, near.tolist(), strict=True)
    ]


def fitting(index: DocumentIndex, question: str, places: Sequence[int]) -> list[Passage]:
    """Passages, each with how well it fits the question: by its words, or by its meaning where that is more."""
    passages = [index.passages[place] for place in places]
    fits = covered(index.lexical, question, [passage.text for passage in passages])
    if index.space is not None and index.vectors is not None and index.space.encoder.taught:
        fits = np.maximum(fits, index.vectors[places] @ index.space([question])[0])
    return [replace(passage, fit=fit) for passage, fit in zip(passages, fits.tolist(), strict=True)]


def doubted(found: Found) -> Found:
    """What was found with the doubt that it is an answer at all: none where its passage fits the question badly.

    >>> from unmask.decode.spans import Span
    >>> answered = Answered("Ann", 0, 3, 1.0, 0.0, (Span("Ann", 0, 3, 1.0),), 2.0)
    >>> [doubted(Found(answered, ("who.txt",), fits=(fit,))).answer for fit in (0.9, 0.2)]
    ['Ann', None]
    """
    if not found.fits:
        return found
    told, sure = found.answered, 1 / (1 + math.exp(-STEEPNESS * (found.fits[0] - LEAST_FIT)))
    none = 1 - sure * (1 - told.no_answer_probability)
    nbest = tuple(replace(span, score=span.score * sure) for span in told.nbest)
    if told.answer is None or found.fits[0] < LEAST_FIT:
        return replace(found, answered=Answered(None, None, None, none, none, nbest, told.margin))
    changed = replace(told, score=told.score * sure, no_answer_probability=none, nbest=nbest)
    return replace(found, answered=changed)


def merged(passages: Sequence[Passage]) -> list[Passage]:
    """Passages of a file that overlap as one, so that what they share is read once; others as they are.

    >>> merged([Passage("lit it. Rain", "log", 11), Passage("The keeper lit it.", "log", 0)])
    [Passage(text='The keeper lit it. Rain', source='log', start=0, fit=0.0)]
    """
    return list(_merged(sorted(passages, key=lambda passage: (passage.source or "", passage.start))))


def _merged(passages: Sequence[Passage]) -> Iterator[Passage]:
    last: Passage | None = None
    for passage in passages:
        end = last.start + len(last.text) if last else 0
        if last and last.source == passage.source and passage.start <= end:
            text = last.text + passage.text[end - passage.start :]
            last = Passage(text, last.source, last.start, max(last.fit, passage.fit))
            continue
        if last:
            yield last
        last = passage
    if last:
        yield last
