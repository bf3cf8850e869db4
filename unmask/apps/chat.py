"""A chat: what was said so far comes in, the reply that fits best goes out, or that nothing is known to say.

Replies are those of its dialogues, found by words and by vectors, and weighed by a cross-encoder where that helps.
Collections of frequent questions and indexes of documents may stand behind it: what they answer is said where it fits
better. Nothing that was said earlier in the conversation is said again, nor anything much like it; where that was the
answer, nobody else gives a worse one in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unmask.apps.app_folder import read_whole, same_encoder
from unmask.apps.chat_measures import Pool, Ranked, by_reading
from unmask.apps.not_knowing import says_nothing
from unmask.apps.predict import Predictor
from unmask.apps.refusing import Refused, fault_of
from unmask.apps.reply_scores import PoolNumbers, Weights
from unmask.apps.response_base import Possible, ResponseBase
from unmask.apps.turns import Said
from unmask.apps.vectors import TextVectors
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.retrieve.lexical import Lexical

TOWER, CROSS = "tower", "cross"  # the models in a chat's folder
FOUND = 24  # replies that each way of finding brings
SHOWN = 5  # candidates of an answer
SURE = 0.5  # of 0 to 1 beyond the threshold: nobody else has to be asked


@dataclass(frozen=True)
class Utterance:
    """Something said, and everything said before it by either side."""

    said: str
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """Something that could be said."""

    answer: str
    score: float  # from 0 to 1
    source: str  # dialogue, faq or documents
    fit: float | None = None  # what the models make of it, as a probability
    known: float | None = None  # how like this one the situation is in which it was said
    margin: float = 0.0  # how far the score is beyond the threshold of its source, from 0 to 1

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON has it."""
        told = {"answer": self.answer, "score": self.score, "source": self.source}
        return told | {name: value for name, value in (("fit", self.fit), ("known", self.known)) if value is not None}


@dataclass(frozen=True)
class Reply:
    """What is said, if anything; the candidates are what could have been said, the best first."""

    answer: str | None
    score: float  # of the answer, or of the best that is not said
    source: str | None  # dialogue, faq or documents
    candidates: tuple[Candidate, ...] = ()
    again: str | None = None  # what would be the answer, had it not been said in this conversation already

    def to_dict(self) -> dict[str, Any]:
        """The reply as JSON has it.

        >>> Reply(None, 0.0, None).to_dict()
        {'answer': None, 'score': 0.0, 'source': None, 'candidates': []}
        """
        told = {
            "answer": self.answer,
            "score": self.score,
            "source": self.source,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }
        return told if self.again is None else told | {"again": self.again}


class Knowledge(Protocol):
    """Whoever answers single questions: an outcome has an answer or none, and a score from 0 to 1."""

    def __call__(self, question: str) -> Any: ...


class ReplyScores:
    """The cross-encoder, if there is one, and what its numbers count for beside the others."""

    def __init__(self, cross: Predictor | None, weights: Weights, responses: Sequence[str]) -> None:
        self.cross, self.weights = cross, weights
        self.places = {response: place for place, response in enumerate(responses)}
        self.words = Lexical.of(responses)

    def __call__(self, turns: Sequence[str], possible: Sequence[Possible]) -> Floats:
        """The probability that each reply is the one."""
        responses = tuple(found.response for found in possible)
        words = self.words.scores(" ".join(turns))[[self.places[response] for response in responses]]
        reading = by_reading(self.cross, [Pool(tuple(turns), responses)])[0] if self.cross else np.zeros(len(words))
        return self.weights.probability(np.array([found.cosine for found in possible]), reading, words)


class Chat:
    """Holds a conversation; without `scores` it replies in situations that it knows, and in no others."""

    def __init__(
        self,
        base: ResponseBase,
        scores: ReplyScores | None,
        threshold: float,
        *,
        faqs: Sequence[Knowledge] = (),
        documents: Sequence[Knowledge] = (),
    ) -> None:
        self.base, self.scores, self.threshold = base, scores, threshold
        self.faqs, self.documents = tuple(faqs), tuple(documents)

    def __call__(self, said: str, history: Sequence[str] = ()) -> Reply:
        """The reply to something, given what was said before."""
        return self.reply(history, said)

    def reply(self, history: Sequence[str], said: str) -> Reply:
        """The same, in the order in which it happened."""
        fault = fault_of(Utterance(said, tuple(history)))
        if fault is not None or not said.strip():
            raise InputError(fault.error if fault is not None else "an empty turn", wanted="something said")
        turns = [*(turn for turn in history if turn.strip() and not says_nothing(turn)), said]
        before = Said(turns[:-1])
        # what the dialogues said may be the answer once more to the same words; to others they have others
        candidates = self.candidates(turns, but=turns[-1:] if said in before else turns)
        for source, those in (("faq", self.faqs), ("documents", self.documents)):
            if max((one.margin for one in candidates), default=0.0) < SURE:
                candidates += [one for knowledge in those for one in _told(knowledge, source, said)]
        return self._chosen(candidates, before)

    def many(self, utterances: Sequence[Utterance]) -> list[Reply | Refused]:
        """A reply to each, or what is wrong with it."""
        replies: list[Reply | Refused] = []
        for utterance in utterances:
            try:
                replies.append(self.reply(utterance.history, utterance.said))
            except InputError as error:
                replies.append(Refused(str(error)))
        return replies

    def measured(self, pools: Sequence[Pool]) -> dict[str, Ranked]:
        """How high the chat, and each of its parts, puts the real replies of pools."""
        assert self.scores is not None, "a chat that was trained"
        return PoolNumbers.of(pools, self.base.vectors, self.scores.cross).ranked(self.scores.weights)

    def candidates(self, turns: Sequence[str], *, but: Sequence[str] | None = None) -> list[Candidate]:
        """The replies of the dialogues that may fit, the best first, but for those said: in this conversation, or in
        the turns named."""
        left_out = Said(turns if but is None else but)
        possible = [found for found in self.base.possible(turns, FOUND) if found.response not in left_out]
        if not possible:
            return []
        fits = [None] * len(possible) if self.scores is None else self.scores(turns, possible).tolist()
        found = [self._candidate(one, fit) for one, fit in zip(possible, fits, strict=True)]
        return sorted(found, key=lambda candidate: -candidate.score)

    def _candidate(self, possible: Possible, fit: float | None) -> Candidate:
        """A reply with its score: it fits, or it was said in this very situation; either is reason enough."""
        score = 1 - (1 - (fit or 0.0)) * (1 - possible.known)
        margin = _beyond(score, self.threshold)
        return Candidate(possible.response, score, "dialogue", fit, possible.known, margin)

    def _chosen(self, candidates: Sequence[Candidate], before: Said) -> Reply:
        """The best that is new; where the best of all was said before, only dialogues may have another of theirs."""
        ordered = sorted(candidates, key=lambda candidate: -candidate.margin)
        best = ordered[0] if ordered else None
        again = best if best is not None and best.answer in before and self._is_enough(best) else None
        new = [one for one in ordered if one.answer not in before and (again is None or _both_of_dialogues(one, again))]
        shown = tuple(new[:SHOWN])
        if shown and self._is_enough(shown[0]):
            return Reply(shown[0].answer, shown[0].score, shown[0].source, shown)
        if again is not None:
            return Reply(None, again.score, None, shown, again.answer)
        return Reply(None, shown[0].score if shown else 0.0, None, shown)

    def _is_enough(self, candidate: Candidate) -> bool:
        """Others have looked at their own threshold already."""
        return candidate.source != "dialogue" or candidate.score >= self.threshold


def open_chat(
    folder: Path | str,
    *,
    faqs: Sequence[Knowledge] = (),
    documents: Sequence[Knowledge] = (),
    device: str = "cpu",
    threads: int | None = None,
) -> Chat:
    """The chat of a folder that `unmask chat train` made."""
    folder = Path(folder)

    def read(fields: dict[str, Any]) -> Chat:
        tower = TextVectors(folder / TOWER, device=device, threads=threads)
        same_encoder(folder, fields, tower.identity, do="train the chat again")
        try:
            weights, threshold = Weights(**fields["weights"]), float(fields["threshold"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder}, a damaged chat folder ({error})", do="train it again") from error
        base = ResponseBase.load(folder, tower)
        reads = weights.reading > 0  # what counts for nothing need not be read
        cross = Predictor.open(folder / CROSS, device=device, threads=threads) if reads else None
        return Chat(base, ReplyScores(cross, weights, base.responses), threshold, faqs=faqs, documents=documents)

    return read_whole(folder, "chat", read)


def _told(knowledge: Knowledge, source: str, said: str) -> list[Candidate]:
    """What others answer, unless they do not know it or only give back what was said to them."""
    try:
        told = knowledge(said).to_dict()
    except InputError:  # no question that they could read: then they have nothing to say
        return []
    answer, score = told.get("answer"), float(told.get("score") or 0.0)
    if answer is None or answer in Said([said]):
        return []
    margin = min(1.0, _beyond(score, float(getattr(knowledge, "threshold", 0.0))))
    return [Candidate(answer, score, source, margin=margin)]


def _both_of_dialogues(one: Candidate, other: Candidate) -> bool:
    """Two FAQs share a source, but are two: where one has spoken, the other is somebody else."""
    return one.source == other.source == "dialogue"


def _beyond(score: float, threshold: float) -> float:
    """How far a score goes beyond a threshold, from 0 to 1.

    >>> _beyond(0.75, 0.5), _beyond(0.4, 0.5)
    (0.5, 0.0)
    """
    return max(0.0, (score - threshold) / max(1 - threshold, 1e-9))
