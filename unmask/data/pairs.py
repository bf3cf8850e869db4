"""Pretraining examples drawn from a store at read time: a plan and a step's number come in, the step's rows come out.

A document is cut into parts no longer than a row, at places that change with every epoch; a sentence belongs to the
part in which it begins. An epoch takes all parts of all documents in an order of its own, so every sentence is met
about once. Nothing is kept from step to step: parts, order and draws are functions of (seed, step), so that any step
can be drawn at once, by any number of processes.

As in the paper: two segments, the second the true continuation or one from another document (half of the time each),
one row in ten deliberately short, the longer segment cut at its front or back where a row is too long. Unlike in
Google's code, a part of one sentence borrows its neighbour, so that both labels are equally likely, and a foreign
segment is about as long as the one that it replaces, so that length hardly gives the label away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from unmask.data.chance import Hashes, generator, hashed, permuted, uniform
from unmask.data.ragged import Integers
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer

Objective = Literal["next", "order", "full"]  # another document's text or not; swapped or not; one segment alone
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEAR_ROWS = 1 << 14  # rows after its own document among which a foreign segment is looked for
SHORT_RATE = 0.1  # of pairs, so that the model also meets short inputs
DRAWS, ORDER, CUTS = 1, 2, 3  # purposes of chance


class Text(Protocol):
    """What is asked of a store: ids of sentences end to end, no sentence empty."""

    @property
    def document_sentences(self) -> NDArray[np.int64]:
        """The first sentence of each document, and the end."""

    @property
    def sentence_tokens(self) -> NDArray[np.int64]:
        """The first token of each sentence, and the end."""

    def tokens(self, start: int, stop: int) -> NDArray[np.unsignedinteger]:
        """The ids of tokens start to stop."""


@dataclass(frozen=True)
class Plan:
    """Which parts of which documents make an epoch of rows."""

    text: Text
    length: int  # the most tokens that a row may have
    objective: Objective
    documents: Integers  # (N,) the documents that take part
    parts: Integers  # (N + 1,) the first part of each of them, and the end
    tokens: int  # that these documents have
    skipped: int  # documents of one sentence, which cannot give pairs
    words: Callable[[int, int], Flags] | None  # where words begin among tokens start to stop, if other than by pieces

    @property
    def size(self) -> int:
        """The number of rows in an epoch."""
        return int(self.parts[-1])

    @property
    def room(self) -> int:
        """A row's tokens without [CLS] and [SEP]."""
        return self.length - SPECIALS[self.objective]

    def rows(self, batch_tokens: int) -> int:
        """How many rows hold about so many tokens; the same for every step, or no step could be reached directly."""
        mean = min(self.tokens / self.size + SPECIALS[self.objective], self.length)
        return max(1, round(batch_tokens / mean))


@dataclass(frozen=True)
class Examples:
    """B rows of T tokens in all, end to end: [CLS] A [SEP] B [SEP], or [CLS] A [SEP]."""

    ids: Integers  # (T,)
    segments: Integers  # (T,)
    lengths: Integers  # (B,)
    labels: Integers  # (B,) 0: B follows A; 1: it is another document's, or it came before A; 0 if there is no B
    special: Flags  # (T,) special pieces, never to be masked
    word_starts: Flags  # (T,) where words begin; a special piece is a word
    keys: Hashes  # (B,) each row's own chance, for masking

    @cached_property
    def starts(self) -> Integers:
        """Where each row begins."""  # (B,)
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def rows(self) -> Integers:
        """Each token's row."""  # (T,)
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def positions(self) -> Integers:
        """Each token's place in its row."""  # (T,)
        return np.arange(len(self.ids)) - self.starts[self.rows]


def plan(
    text: Text,
    *,
    length: int,
    objective: Objective = "next",
    documents: Integers | None = None,
    words: Callable[[int, int], Flags] | None = None,
) -> Plan:
    """Cuts documents (all, or those given) into parts; this takes 16 bytes a document, nothing a sentence.

    >>> from types import SimpleNamespace
    >>> text = SimpleNamespace(document_sentences=np.array([0, 2, 4]), sentence_tokens=np.array([0, 9, 12, 14, 20]))
    >>> made = plan(text, length=9)
    >>> made.parts, made.size, made.rows(batch_tokens=36)
    (array([0, 2, 4]), 4, 4)
    """
    if length < 5:
        raise InputError(f"rows of {length} tokens", wanted="at least 5: [CLS], a piece, [SEP], a piece, [SEP]")
    chosen = np.arange(len(text.document_sentences) - 1) if documents is None else np.asarray(documents, np.int64)
    sentences = text.document_sentences[chosen + 1] - text.document_sentences[chosen]
    kept = chosen[sentences >= (1 if objective == "full" else 2)]
    skipped = len(chosen) - len(kept)
    _check_documents(len(kept), skipped, objective)
    tokens = _document_tokens(text, kept)
    parts = np.cumsum(-(-tokens // (length - SPECIALS[objective])))
    return Plan(text, length, objective, kept, np.append(0, parts), int(tokens.sum()), skipped, words)


def draw(
    plan: Plan, tokenizer: Tokenizer, *, seed: int, step: int, rows: int, rank: int = 0, world: int = 1
) -> Examples:
    """The rows of a step, or a rank's share of them; all ranks together draw what one alone would.

    >>> from types import SimpleNamespace
    >>> offsets = {"document_sentences": np.array([0, 2, 4]), "sentence_tokens": np.array([0, 1, 2, 3, 4])}
    >>> text = SimpleNamespace(**offsets, tokens=lambda start, stop: np.arange(start, stop) + 5)
    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two", "red", "green"])
    >>> rows = draw(plan(text, length=9), tokenizer, seed=0, step=0, rows=2)
    >>> " ".join(tokenizer.pieces[id] for id in rows.ids), rows.labels
    ('[CLS] one [SEP] red [SEP] [CLS] red [SEP] green [SEP]', array([1, 0]))
    """
    chance = generator(seed, step, DRAWS)
    mine = slice(rows * rank // world, rows * (rank + 1) // world)
    keys = chance.integers(0, 1 << 64, rows, dtype=np.uint64)[mine]
    chances = chance.random((8, rows))[:, mine]
    epochs, places = np.divmod(step * rows + np.arange(rows)[mine], plan.size)
    parts = _locate(plan, permuted(places, plan.size, hashed(seed, epochs, ORDER)), hashed(seed, epochs, CUTS))
    starts, stops, labels = SEGMENTS[plan.objective](plan, parts, chances)
    starts, stops = _truncated(starts, stops, plan.room, chances[:2].T)
    return _assembled(plan, tokenizer, starts, stops, labels, keys)


@dataclass(frozen=True)
class _Parts:
    """B parts of documents."""

    row: Integers  # (B,) which of the plan's documents
    first: Integers  # (B,) sentences, from
    stop: Integers  # (B,) and to


def _check_documents(count: int, skipped: int, objective: Objective) -> None:
    if count >= (2 if objective == "next" else 1):
        return
    got = f"{count} documents that have two sentences or more and {skipped} that have one"
    if objective == "next":
        do = "put blank lines between documents, or train without next sentences (--objective mlm)"
        raise InputError(got, wanted="two or more: half of the second segments come from another document", do=do)
    raise InputError("no documents" if objective == "full" else got, wanted="text to draw examples from")


def _document_tokens(text: Text, documents: Integers) -> Integers:
    first, last = text.document_sentences[documents], text.document_sentences[documents + 1]
    counts: Integers = text.sentence_tokens[last] - text.sentence_tokens[first]
    return np.asarray(counts)


def _locate(plan: Plan, numbers: Integers, keys: Hashes) -> _Parts:
    """The sentences that begin in each part; where none does, the one that runs through the part's beginning.

    Parts are as long as a row's room. The first is shortened by a random share of what the last would lack.
    """
    row = np.searchsorted(plan.parts, numbers, side="right") - 1
    document, places = plan.documents[row], plan.text.sentence_tokens
    begin, tokens = places[plan.text.document_sentences[document]], _document_tokens(plan.text, document)
    spare = (plan.parts[row + 1] - plan.parts[row]) * plan.room - tokens
    shift = (uniform(keys, document) * (spare + 1)).astype(np.int64)
    cut = (numbers - plan.parts[row]) * plan.room - shift
    first = np.searchsorted(places, begin + np.maximum(cut, 0))
    stop = np.searchsorted(places, begin + np.minimum(cut + plan.room, tokens))
    first = np.where(first < stop, first, first - 1)
    return _Parts(row, first, np.maximum(stop, first + 1))


def _single(plan: Plan, parts: _Parts, _: Floats) -> tuple[Integers, Integers, Integers]:
    """One segment: all sentences of the part."""
    places = plan.text.sentence_tokens
    return places[parts.first][:, None], places[parts.stop][:, None], np.zeros_like(parts.row)


def _next(plan: Plan, parts: _Parts, chances: Floats) -> tuple[Integers, Integers, Integers]:
    """Two segments: the second is the first's continuation, or as much of another document."""
    starts, stops = _split(plan, parts, chances)
    labels = (chances[2] < 0.5).astype(np.int64)
    foreign_starts, foreign_stops = _foreign(plan, parts.row, stops[:, 1] - starts[:, 1], chances)
    starts[:, 1] = np.where(labels, foreign_starts, starts[:, 1])
    stops[:, 1] = np.where(labels, foreign_stops, stops[:, 1])
    return starts, stops, labels


def _order(plan: Plan, parts: _Parts, chances: Floats) -> tuple[Integers, Integers, Integers]:
    """Two consecutive segments, in their order or swapped."""
    starts, stops = _split(plan, parts, chances)
    swapped = chances[2] < 0.5
    starts, stops = (np.where(swapped[:, None], ends[:, ::-1], ends) for ends in (starts, stops))
    return starts, stops, swapped.astype(np.int64)


def _split(plan: Plan, parts: _Parts, chances: Floats) -> tuple[Integers, Integers]:
    """Where two consecutive segments of each part begin and end; one part in ten is shortened before."""
    alone = parts.stop - parts.first == 1
    last = parts.stop == plan.text.document_sentences[plan.documents[parts.row] + 1]
    first, stop = parts.first - (alone & last), parts.stop + (alone & ~last)
    places = plan.text.sentence_tokens
    target = np.where(chances[3] < SHORT_RATE, 2 + (chances[4] * (plan.room - 1)).astype(np.int64), plan.room)
    enough = np.searchsorted(places, places[first] + target)
    stop = np.minimum(stop, np.maximum(enough, first + 2))
    middle = first + 1 + (chances[5] * (stop - first - 1)).astype(np.int64)
    return np.stack([places[first], places[middle]], axis=1), np.stack([places[middle], places[stop]], axis=1)


def _foreign(plan: Plan, row: Integers, lengths: Integers, chances: Floats) -> tuple[Integers, Integers]:
    """Whole sentences of about `lengths` tokens, if there are so many, from any place in a near other document."""
    own, own_size = plan.parts[row], plan.parts[row + 1] - plan.parts[row]
    # Corpora are laid end to end, so a document close by is likely of the same language and kind: a pair is not given
    # away by its topic or script. Beyond the last document it goes on with the first.
    beyond = (chances[6] * np.minimum(plan.size - own_size, NEAR_ROWS)).astype(np.int64)
    other = (own + own_size + beyond) % plan.size
    document = plan.documents[np.searchsorted(plan.parts, other, side="right") - 1]
    places = plan.text.sentence_tokens
    begin, end = plan.text.document_sentences[document], plan.text.document_sentences[document + 1]
    early = np.searchsorted(places, places[end] - lengths, side="right")  # sentences with as much text from them on
    first = begin + (chances[7] * np.maximum(early - begin, 1)).astype(np.int64)
    wanted = places[first] + lengths
    stop = np.minimum(np.searchsorted(places, wanted), end)
    shorter = np.maximum(stop - 1, first + 1)
    stop = np.where(wanted - places[shorter] < places[stop] - wanted, shorter, stop)
    return places[first], places[stop]


def _truncated(starts: Integers, stops: Integers, room: int, chances: Floats) -> tuple[Integers, Integers]:
    """Segments that fit: the longer loses tokens first, at a random share from its front and the rest from its back.

    >>> _truncated(np.array([[0, 20]]), np.array([[9, 23]]), 7, np.array([[0.5, 0.5]]))
    (array([[ 3, 20]]), array([[ 7, 23]]))
    """
    lengths = stops - starts  # (B, 1 or 2)
    if lengths.shape[1] == 1:
        kept = np.minimum(lengths, room)
    else:
        first = np.minimum(lengths[:, 0], np.maximum(room - lengths[:, 1], room - room // 2))
        kept = np.stack([first, np.minimum(lengths[:, 1], room - first)], axis=1)
    starts = starts + (chances[:, : lengths.shape[1]] * (lengths - kept + 1)).astype(np.int64)
    return starts, starts + kept


def _assembled(
    plan: Plan, tokenizer: Tokenizer, starts: Integers, stops: Integers, labels: Integers, keys: Hashes
) -> Examples:
    """Reads the segments' tokens and puts [CLS] and [SEP] around them."""
    taken = stops - starts + 1  # (B, segments) each with its [SEP]
    taken[:, 0] += 1  # [CLS]
    ends = np.cumsum(taken.ravel())
    ids = np.empty(ends[-1] if len(ends) else 0, dtype=np.int64)
    ids[ends.reshape(taken.shape)[:, 0] - taken[:, 0]] = tokenizer.cls_id
    ids[ends - 1] = tokenizer.sep_id
    spans = list(zip((ends - 1).tolist(), starts.ravel().tolist(), stops.ravel().tolist(), strict=True))
    for end, start, stop in spans:
        ids[end - (stop - start) : end] = plan.text.tokens(start, stop)
    word_starts = tokenizer.starts_word[ids]
    if plan.words is not None:
        for end, start, stop in spans:
            word_starts[end - (stop - start) : end] = plan.words(start, stop)
    special = tokenizer.special[ids]
    word_starts |= special
    word_starts[1:] |= special[:-1]  # a segment may begin within a word
    segments = np.repeat(np.tile(np.arange(taken.shape[1]), len(taken)), taken.ravel())
    return Examples(ids, segments, taken.sum(axis=1), labels, special, word_starts, keys)


SPECIALS = {"next": 3, "order": 3, "full": 2}  # a row's [CLS] and [SEP]
SEGMENTS = {"next": _next, "order": _order, "full": _single}
