"""What would have changed the answer? A classifier and a text in, the fewest word replacements that flip it out.

Words are replaced at the places that matter most for the answer, one at first, then two, and so on, by what a
masked-word model finds fluent there. All replacements of one word at those places are tried; of more words those that
go on with the most promising ones (a beam). The model itself judges every text, so what is found is exact; that nothing
smaller exists outside the search is not claimed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.explain.explanation import Explanation
from unmask.explain.proposing import Place, Proposer
from unmask.explain.reading import Word
from unmask.explain.subjects import as_example
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.classification import Classification
from unmask.tasks.kinds import task_of

PLACES = 12  # words that may be replaced, those that matter most
CANDIDATES = 12  # for each of them
BEAM = 5  # texts that are changed further
MOST_WORDS = 3
SHOWN = 3  # counterfactuals of the same size

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """One word replaced by another."""

    word: Word
    new: str
    probability: float  # that the proposer gave it


@dataclass(frozen=True)
class Counterfactual:
    """A changed text of which the model says something else."""

    changes: tuple[Change, ...]
    texts: tuple[str, ...]
    label: str
    probability: float  # of that label

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        changes = [
            {**asdict(change.word), "new": change.new, "probability": change.probability} for change in self.changes
        ]
        told = {"changes": changes, "text": self.texts[0], "label": self.label, "probability": self.probability}
        return told | ({"pair": self.texts[1]} if len(self.texts) > 1 else {})


@dataclass(frozen=True)
class Counterfactuals:
    """What was found for one example."""

    texts: tuple[str, ...]
    label: str
    probability: float
    found: tuple[Counterfactual, ...]  # all of the fewest words, the most fluent first
    within: int  # words that were replaced at most
    tried: int  # texts that the model judged

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        told = {"label": self.label, "probability": self.probability, "within": self.within, "tried": self.tried}
        return {**told, "found": [one.to_dict() for one in self.found]}

    @property
    def verdict(self) -> str:
        """How many words it took.

        >>> Counterfactuals(("so dull",), "bad", 0.9, (), 3, 250).verdict
        'none found within 3 words (250 texts tried)'
        """
        if not self.found:
            return f"none found within {self.within} word{'s' * (self.within > 1)} ({self.tried:,} texts tried)"
        count = len(self.found[0].changes)
        return f"{count} word{'s' * (count > 1)} would change it ({self.tried:,} texts tried)"

    def in_words(self) -> str:
        """The same for a terminal."""
        lines = [f"not {self.label} ({self.probability:.3f}): {self.verdict}"]
        for one in self.found:
            swaps = ", ".join(f"{change.word.text} → {change.new}" for change in one.changes)
            lines.append(f"  {one.label} ({one.probability:.3f}) with {swaps}")
        return "\n".join(lines)

    def as_html(self) -> str:
        """The same as a piece of a page: what goes is struck out, what comes stands behind it."""
        pieces = [f"<h2>What would change it?</h2><p class='note'>{escape(self.verdict)}</p>"]
        for one in self.found:
            told = "".join(f"<p>{_marked(text, part, one.changes)}</p>" for part, text in enumerate(self.texts))
            pieces.append(f"{told}<p class='note'>{escape(one.label)} ({one.probability:.3f})</p>")
        return "".join(pieces)


@dataclass(frozen=True)
class _Judge:
    """The classifier as a function of examples."""

    opened: ModelFolder
    task: Classification

    def __call__(self, examples: Sequence[TextExample]) -> Floats:
        """The probability of each class."""  # (N, classes)
        assert isinstance(self.opened.model, BertWithHead)
        rows = self.task.rows(examples, self.opened.tokenizer)
        answers = self.task.answers(examples, rows, outputs_of(self.opened.model, rows))
        return np.array([list(answer.probabilities.values()) for answer in answers])


def counterfactuals(
    opened: ModelFolder,
    example: Any,
    explanation: Explanation,
    proposer: Proposer,
    *,
    most_words: int = MOST_WORDS,
    candidates: int = CANDIDATES,
    places: int = PLACES,
    beam: int = BEAM,
) -> Counterfactuals:
    """The fewest replacements that change a classifier's answer; an explanation of it says where to begin."""
    judge = _Judge(opened, _classification(opened))
    plain = replace(as_example(example, opened.about.head), label=None)
    texts = (plain.text,) if plain.pair is None else (plain.text, plain.pair)
    own = judge([plain])[0]
    label, tried = int(own.argmax()), 0
    order = np.argsort(-np.abs(explanation.scores), kind="stable")[:places]
    words = [explanation.words[number] for number in order]
    held: list[tuple[Change, ...]] = [()]
    found: tuple[Counterfactual, ...] = ()
    for _ in range(min(most_words, len(words))):
        sets = _longer(texts, held, words, proposer, candidates)
        if not sets:
            break
        judged = judge([_example(texts, changes) for changes in sets])  # (N, classes)
        tried += len(sets)
        flipped = np.flatnonzero(judged.argmax(1) != label)
        if len(flipped):
            best = sorted(flipped.tolist(), key=lambda number: -_fluency(sets[number]))[:SHOWN]
            found = tuple(_counterfactual(texts, sets[number], judged[number], judge.task.labels) for number in best)
            break
        held = [sets[number] for number in np.argsort(judged[:, label], kind="stable")[:beam]]
    return Counterfactuals(texts, judge.task.labels[label], float(own[label]), found, most_words, tried)


def _classification(opened: ModelFolder) -> Classification:
    task = task_of(opened.about, opened.config.positions) if opened.about.head == "classes" else None
    if not isinstance(task, Classification) or task.multi_label:
        raise InputError(
            f"counterfactuals of a model for {opened.about.task or opened.about.head or 'encoding'}",
            wanted="a model that gives each text one class",
        )
    return task


def _longer(
    texts: Sequence[str], held: Sequence[tuple[Change, ...]], words: Sequence[Word], proposer: Proposer, top: int
) -> list[tuple[Change, ...]]:
    """Sets of changes with one more word, each set once; words are proposed for the text as it was changed so far."""
    asked = [(changes, word) for changes in held for word in words if all(word != one.word for one in changes)]
    proposed = proposer([_place(texts, changes, word) for changes, word in asked], top=top)
    sets: dict[frozenset[tuple[Word, str]], tuple[Change, ...]] = {}
    for (changes, word), others in zip(asked, proposed, strict=True):
        for new, probability in others:
            longer = (*changes, Change(word, new, probability))
            sets.setdefault(frozenset((one.word, one.new) for one in longer), longer)
    return list(sets.values())


def _place(texts: Sequence[str], changes: Sequence[Change], word: Word) -> Place:
    """Where a word stands after the changes before it."""
    before = [one for one in changes if one.word.part == word.part and one.word.start < word.start]
    shift = sum(len(one.new) - (one.word.end - one.word.start) for one in before)
    return Place(changed(texts[word.part], word.part, changes), word.start + shift, word.end + shift)


def changed(text: str, part: int, changes: Sequence[Change]) -> str:
    """A text with its changes made.

    >>> dull = Word("dull", 0, 3, 7)
    >>> changed("so dull!", 0, [Change(dull, "bright", 0.1)])
    'so bright!'
    """
    for one in sorted(changes, key=lambda change: -change.word.start):
        if one.word.part == part:
            text = text[: one.word.start] + one.new + text[one.word.end :]
    return text


def _example(texts: Sequence[str], changes: Sequence[Change]) -> TextExample:
    return TextExample(*(changed(text, part, changes) for part, text in enumerate(texts)))


def _fluency(changes: Sequence[Change]) -> float:
    return sum(log(change.probability) for change in changes)


def _counterfactual(
    texts: Sequence[str], changes: tuple[Change, ...], judged: Floats, labels: Sequence[str]
) -> Counterfactual:
    changes = tuple(sorted(changes, key=lambda change: (change.word.part, change.word.start)))
    new = tuple(changed(text, part, changes) for part, text in enumerate(texts))
    label = int(judged.argmax())
    return Counterfactual(changes, new, labels[label], float(judged[label]))


def _marked(text: str, part: int, changes: Sequence[Change]) -> str:
    pieces, done = [], 0
    for one in changes:
        if one.word.part == part:
            start, end = one.word.start, one.word.end
            pieces.append(
                f"{escape(text[done:start])}<del>{escape(text[start:end])}</del> <ins>{escape(one.new)}</ins>"
            )
            done = end
    return "".join([*pieces, escape(text[done:])])
