"""Tags of words -> spans and entities, and back: IOB1, IOB2 and BIOES read by the rules of CoNLL's scorer, conlleval.

In: a tag for each word, or scores for each word and tag. Out: spans as (type, first word, word after the last), the
best legal sequence of tags, entities by characters of the original text.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.decode.words import Floats
from unmask.errors import InputError

Span = tuple[str, int, int]  # type, first word, the word after the last

LETTERS = {"IOB1": ("O", "B", "I"), "IOB2": ("O", "B", "I"), "BIOES": ("O", "B", "I", "E", "S")}


@dataclass(frozen=True)
class Entity:
    """Something found in a text: what it is and where it stands, in characters of the original."""

    type: str
    start: int
    end: int
    text: str
    score: float

    def to_dict(self) -> dict[str, Any]:
        """The entity as JSON says it.

        >>> Entity("PER", 0, 3, "Ann", 0.75).to_dict()
        {'type': 'PER', 'start': 0, 'end': 3, 'text': 'Ann', 'score': 0.75}
        """
        return {"type": self.type, "start": self.start, "end": self.end, "text": self.text, "score": self.score}


@dataclass(frozen=True)
class Tagged:
    """All entities of a text, in its order."""

    entities: tuple[Entity, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> Tagged(()).to_dict()
        {'entities': []}
        """
        return {"entities": [entity.to_dict() for entity in self.entities]}


def parts(tag: str, scheme: str) -> tuple[str, str]:
    """The letter of a tag and its type, which may itself have hyphens.

    >>> parts("B-work-of-art", "IOB2"), parts("O", "IOB2")
    (('B', 'work-of-art'), ('O', ''))
    """
    letter, _, type_ = tag.partition("-")
    if letter not in _letters(scheme):
        wanted = ", ".join("O" if letter == "O" else f"{letter}-TYPE" for letter in _letters(scheme))
        raise InputError(f"tag {tag!r}", wanted=f"{wanted} ({scheme})")
    return letter, type_


def _letters(scheme: str) -> tuple[str, ...]:
    if scheme not in LETTERS:
        raise InputError(f"tag scheme {scheme!r}", wanted=" or ".join(LETTERS))
    return LETTERS[scheme]


def _continues(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    """Does a tag go on with the span of the tag before it?"""
    return previous[0] in "BI" and current[0] in "IE" and previous[1] == current[1]


def spans_of(tags: Sequence[str], scheme: str) -> list[Span]:
    """The spans that tags mark; a span whose beginning is not marked begins where its type does, as in conlleval.

    >>> spans_of(["B-PER", "I-PER", "O", "I-LOC"], "IOB2")
    [('PER', 0, 2), ('LOC', 3, 4)]
    """
    spans: list[Span] = []
    previous = ("O", "")
    for place, tag in enumerate(tags):
        current = parts(tag, scheme)
        if _continues(previous, current):
            spans[-1] = (current[1], spans[-1][1], place + 1)
        elif current[0] != "O":
            spans.append((current[1], place, place + 1))
        previous = current
    return spans


def tags_of(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """The tags that mark spans, in a sentence of a number of words.

    >>> tags_of([("PER", 0, 2), ("PER", 2, 3)], 4, "IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    >>> tags_of([("PER", 0, 2), ("PER", 2, 3)], 4, "BIOES")
    ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    _letters(scheme)
    tags = ["O"] * length
    before: Span = ("", 0, 0)
    for span in sorted(spans, key=lambda span: span[1:]):
        type_, first, after = span
        if not before[2] <= first < after <= length:
            raise InputError(f"span {span} after {before} among {length} words", wanted="spans that do not overlap")
        tags[first:after] = [f"{letter}-{type_}" for letter in _letters_of_span(span, before, scheme)]
        before = span
    return tags


def _letters_of_span(span: Span, before: Span, scheme: str) -> str:
    """The letters of a span's words, given the span before it.

    >>> _letters_of_span(("PER", 2, 5), ("PER", 0, 2), "BIOES")
    'BIE'
    """
    size = span[2] - span[1]
    if scheme == "BIOES":
        return "S" if size == 1 else "B" + "I" * (size - 2) + "E"
    # IOB1 marks a beginning only where it would otherwise read as one span with the span before
    marked = scheme == "IOB2" or (before[2] > 0 and (before[0], before[2]) == (span[0], span[1]))
    return ("B" if marked else "I") + "I" * (size - 1)


def detect_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """The scheme that sentences are tagged in: by its letters, else by how spans usually begin.

    >>> detect_scheme([["I-PER", "I-PER", "O"]]), detect_scheme([["O", "B-LOC"]]), detect_scheme([["S-LOC"]])
    ('IOB1', 'IOB2', 'BIOES')
    """
    begins: Counter[str] = Counter()
    for tags in sequences:
        previous = ("O", "")
        for tag in tags:
            current = parts(tag, "BIOES")
            if current[0] in "ES":
                return "BIOES"
            # after a span of its own type a B is written in both schemes and tells nothing
            if current[0] != "O" and (previous[0] == "O" or previous[1] != current[1]):
                begins[current[0]] += 1
            previous = current
    return "IOB1" if begins["I"] > begins["B"] else "IOB2"


def convert(tags: Sequence[str], scheme: str, to: str) -> list[str]:
    """Tags of one scheme written in another.

    >>> convert(["I-PER", "B-PER", "O"], "IOB1", "IOB2")
    ['B-PER', 'B-PER', 'O']
    """
    return tags_of(spans_of(tags, scheme), len(tags), to)


def repair(tags: Sequence[str], scheme: str) -> list[str]:
    """Tags that no annotator would write, made legal without moving a span as conlleval sees it.

    >>> repair(["O", "I-PER", "I-LOC"], "IOB2")
    ['O', 'B-PER', 'B-LOC']
    """
    return convert(tags, scheme, scheme)


def legal_transitions(
    labels: Sequence[str], scheme: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """What may begin, what may follow what, and what may end a sentence: 0 where legal, else minus infinity.

    >>> start, transitions, end = legal_transitions(["O", "B-PER", "I-PER"], "IOB2")
    >>> start, transitions[0]  # nothing goes on that has not begun
    (array([  0.,   0., -inf]), array([  0.,   0., -inf]))
    """  # (K,), (K, K) from row to column, (K,)
    tags = [parts(label, scheme) for label in labels]
    outside = ("O", "")

    def weight(legal: Iterable[bool]) -> NDArray[np.float64]:
        return np.where(np.fromiter(legal, bool), 0.0, -np.inf)

    start = weight(_may_follow(outside, tag, scheme) for tag in tags)
    transitions = weight(_may_follow(before, tag, scheme) for before in tags for tag in tags)
    end = weight(_may_follow(tag, outside, scheme) for tag in tags)
    return start, transitions.reshape(len(tags), len(tags)), end


def _may_follow(previous: tuple[str, str], current: tuple[str, str], scheme: str) -> bool:
    if scheme == "BIOES":
        unfinished, inner = previous[0] in "BI", current[0] in "IE"
        return unfinished == inner and (not inner or previous[1] == current[1])
    same_span_type = previous[0] in "BI" and previous[1] == current[1]
    return current[0] != {"IOB1": "B", "IOB2": "I"}[scheme] or same_span_type


def best_path(scores: Floats, transitions: Floats, start: Floats, end: Floats) -> NDArray[np.intp]:
    """The sequence of labels with the greatest sum of scores and transitions (Viterbi).

    >>> start, transitions, end = legal_transitions(["O", "B-PER", "I-PER"], "IOB2")
    >>> best_path(np.array([[1.0, 0.9, 0.0], [0.0, 0.0, 2.0]]), transitions, start, end)
    array([1, 2])
    """  # (S, K), (K, K) from row to column, (K,), (K,) -> (S,)
    return best_paths(scores, [len(scores)], transitions, start, end)


def best_paths(
    scores: Floats, lengths: Sequence[int] | NDArray[np.integer], transitions: Floats, start: Floats, end: Floats
) -> NDArray[np.intp]:
    """The best path of each of many sentences, whose words stand end to end; a step advances all sentences at once.

    >>> nothing = np.zeros(2)
    >>> best_paths(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]), [1, 2], np.zeros((2, 2)), nothing, nothing)
    array([1, 0, 1])
    """  # (T, K), (B,) -> (T,)
    sizes = np.asarray(lengths, np.intp)
    firsts = np.cumsum(sizes) - sizes
    longest_first = np.argsort(-sizes, kind="stable")
    longest_first = longest_first[sizes[longest_first] > 0]
    firsts, sizes = firsts[longest_first], sizes[longest_first]
    came_from = np.zeros(scores.shape, np.intp)  # (T, K)
    reached = start + scores[firsts].astype(np.float64)  # (B, K): the best score of a path to each label
    for step in range(1, sizes[0] if len(sizes) else 0):
        alive = int(np.searchsorted(-sizes, -step, side="left"))
        options = reached[:alive, :, None] + transitions  # (alive, K, K)
        words = firsts[:alive] + step
        came_from[words] = options.argmax(1)
        reached[:alive] = options.max(1) + scores[words]
    return _walk_back(came_from, (reached + end).argmax(1), firsts, sizes)


def _walk_back(
    came_from: NDArray[np.intp], labels: NDArray[np.intp], firsts: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The labels of all words, from each sentence's last label along the marks of where it came from."""
    path = np.zeros(len(came_from), np.intp)
    for back in range(sizes[0] if len(sizes) else 0):
        alive = int(np.searchsorted(-sizes, -back, side="left"))
        words = (firsts + sizes - 1 - back)[:alive]
        path[words] = labels[:alive]
        labels = came_from[words, labels[:alive]]
    return path


def entities(
    text: str,
    word_spans: Sequence[tuple[int, int]],
    tags: Sequence[str],
    probabilities_of_words: Sequence[float] | Floats,
    scheme: str,
) -> Tagged:
    """The entities that tags of words mark in a text; a score is the mean probability of the entity's tags.

    >>> entities("Ann Lee sang.", [(0, 3), (4, 7), (8, 12)], ["B-PER", "I-PER", "O"], [0.5, 1.0, 1.0], "IOB2")
    Tagged(entities=(Entity(type='PER', start=0, end=7, text='Ann Lee', score=0.75),))
    """
    found = []
    for type_, first, after in spans_of(tags, scheme):
        start, end = word_spans[first][0], word_spans[after - 1][1]
        score = float(np.mean(probabilities_of_words[first:after]))
        found.append(Entity(type_, start, end, text[start:end], score))
    return Tagged(tuple(found))
