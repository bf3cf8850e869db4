"""Answers of an FAQ: a question in, the answer of the entry that fits it out, or none with the closest questions.

The index finds entries by words and vectors; a pair model, if there is one, orders the best of them again; below the
threshold nothing is answered. All of it lies in one folder, which `save` writes and `open_faq` opens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from unmask.apps.app_folder import read_whole, write_app
from unmask.apps.faq_entries import read_entries, write_entries
from unmask.apps.faq_index import NOTHING, FaqIndex
from unmask.apps.faq_measures import FEWEST, FaqScores, Flags, Judged, ask_itself, choose_threshold, judge
from unmask.apps.not_knowing import strangers_to
from unmask.apps.refusing import Refused, fault_of_words
from unmask.apps.reranking import Reranker
from unmask.apps.spaces import TextSpace, load_vectors
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.retrieve.lexical import Lexical

KIND = "faq"
ENTRIES, VECTORS, WORDS = "entries.jsonl", "vectors.npy", "words.npz"
CANDIDATES = 5  # offered, unless asked otherwise
RERANKED = 10  # entries that a pair model orders again
BLOCK = 64  # questions at once: each has a score for every phrasing


@dataclass(frozen=True)
class FaqCandidate:
    """An entry that may be meant."""

    question: str
    answer: str
    score: float

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON has it."""
        return {"question": self.question, "answer": self.answer, "score": round(self.score, 4)}


@dataclass(frozen=True)
class FaqAnswer:
    """What an FAQ says to a question."""

    answer: str | None  # none: no entry fits well enough
    score: float  # of the best candidate
    candidates: tuple[FaqCandidate, ...]  # best first

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        candidates = [candidate.to_dict() for candidate in self.candidates]
        return {"answer": self.answer, "score": round(self.score, 4), "candidates": candidates}


@dataclass(frozen=True)
class Faq:
    """An FAQ, ready to be asked."""

    index: FaqIndex
    threshold: float
    reranker: Reranker | None = None
    scores: FaqScores | None = None  # by which the threshold was chosen
    notes: Mapping[str, Any] = field(default_factory=dict)  # how it came to be, for the folder

    @classmethod
    def of(cls, index: FaqIndex, reranker: Reranker | None = None, *, notes: Mapping[str, Any] | None = None) -> Self:
        """The FAQ of an index; its threshold is what its own phrasings, asked of it in turn, make the best.

        Few of them say little of what it does not know: questions to strangers are asked of it as well.
        """
        made = cls(index, 0.0, reranker, notes=notes or {})
        questions, scores, right = ask_itself(index)
        judged = judge(made.over_entries(questions, scores), right)
        if len(judged.right) >= FEWEST:
            return made.judged_by(judged)
        strange = strangers_to(index.phrasings)
        apart = made.judge(strange, np.zeros((len(strange), len(index.entries)), bool)).without
        return made.judged_by(replace(judged, strange=apart))

    def judged_by(self, judged: Judged) -> Self:
        """The same FAQ with the threshold that is best for judged questions."""
        threshold = choose_threshold(judged)
        return type(self)(self.index, threshold, self.reranker, judged.scores(threshold), self.notes)

    def __call__(self, question: str, *, top: int = CANDIDATES) -> FaqAnswer:
        """The answer to one question; one that cannot be read is an error."""
        found = self.many([question], top=top)[0]
        if isinstance(found, Refused):
            raise InputError(found.error.removeprefix("got "))
        return found

    def many(self, questions: Sequence[str], *, top: int = CANDIDATES) -> list[FaqAnswer | Refused]:
        """An answer for each question, or what is wrong with it."""
        answers: list[FaqAnswer | Refused | None] = [fault_of_words(question, "question") for question in questions]
        sound = [place for place, fault in enumerate(answers) if fault is None]
        for start in range(0, len(sound), BLOCK):
            places = sound[start : start + BLOCK]
            asked = [questions[place] for place in places]
            for place, scores in zip(places, self.over_entries(asked, self.index.scores(asked)), strict=True):
                answers[place] = self._answer(scores, top)
        return [answer for answer in answers if answer is not None]

    def judge(self, questions: Sequence[str], right: Flags, vectors: Floats | None = None) -> Judged:
        """What comes of questions whose right entries (Q, entries) are known, and perhaps their vectors."""
        vectors = self.index.space(questions) if vectors is None else vectors
        blocks = [slice(start, start + BLOCK) for start in range(0, len(questions), BLOCK)]
        scores = [self.index.scores(questions[block], vectors[block]) for block in blocks]
        found = [self.over_entries(questions[block], own) for block, own in zip(blocks, scores, strict=True)]
        return judge(np.concatenate(found), right)

    def over_entries(self, questions: Sequence[str], scores: Floats) -> Floats:
        """Scores of phrasings -> those of entries, by the pair model where there is one."""  # -> (Q, entries)
        found = self.index.by_entry(scores)
        if self.reranker is None:
            return found
        best = np.argsort(-found, axis=1, kind="stable")[:, :RERANKED]
        pairs = [
            (question, self.index.best_phrasing(own, int(entry)))
            for question, own, entries in zip(questions, scores, best, strict=True)
            for entry in entries
        ]
        again = np.full_like(found, NOTHING)
        np.put_along_axis(again, best, self.reranker(pairs).reshape(best.shape).astype(again.dtype), axis=1)
        return np.where(found > NOTHING, again, NOTHING)

    def save(self, folder: Path) -> None:
        """Writes the FAQ's folder, as a whole."""
        index = self.index
        fields = {
            **index.space.fields(folder),
            "words": index.words,
            "threshold": self.threshold,
            "reranker": self.reranker and self.reranker.name,
            "reranker_identity": self.reranker and self.reranker.identity,
            "entries": len(index.entries),
            "phrasings": len(index.phrasings),
            "scores": self.scores and self.scores.to_dict(),
            **self.notes,
        }
        with write_app(folder, KIND, fields) as temporary:
            write_entries(index.entries, temporary / ENTRIES)
            np.save(temporary / VECTORS, index.vectors)
            index.lexical.save(temporary / WORDS)
            index.space.save(temporary)

    def _answer(self, scores: Floats, top: int) -> FaqAnswer:
        best = [int(place) for place in np.argsort(-scores, kind="stable")[:top] if scores[place] > NOTHING]
        entries = self.index.entries
        found = tuple(FaqCandidate(entries[e].question, entries[e].answer, float(scores[e])) for e in best)
        score = found[0].score if found else 0.0
        return FaqAnswer(found[0].answer if found and score >= self.threshold else None, score, found)


def open_faq(folder: Path | str, *, device: str = "cpu", threads: int | None = None) -> Faq:
    """Opens an FAQ's folder; an encoder or pair model that has changed since is refused."""
    place = Path(folder)

    def read(fields: dict[str, Any]) -> Faq:
        entries = read_entries(place / ENTRIES)
        space = TextSpace.open(place, fields, device=device, threads=threads)
        vectors = load_vectors(place / VECTORS, fields["phrasings"])
        index = FaqIndex(entries, space, vectors, Lexical.load(place / WORDS), fields["words"])
        scores = fields["scores"] and FaqScores(**fields["scores"])
        reranker = fields["reranker"] and _same_reranker(place, fields, device, threads)
        return Faq(index, fields["threshold"], reranker, scores)

    return read_whole(place, KIND, read)


def _same_reranker(folder: Path, fields: Mapping[str, Any], device: str, threads: int | None) -> Reranker:
    reranker = Reranker.open(fields["reranker"], device=device, threads=threads)
    if reranker.identity != fields["reranker_identity"]:
        got = f"{folder}, whose threshold is of another version of the pair model {fields['reranker']!r}"
        raise InputError(got, wanted="the model that it was built with", do="build it again")
    return reranker
