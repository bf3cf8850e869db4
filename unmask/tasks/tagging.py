"""Tags of words, such as entities: sentences of words in, the entities of the original text out.

The model is asked at the first piece of every word. A long sentence is read in overlapping windows, which vote on their
words; with `context` a sentence is read among its neighbours in the document, as in Devlin et al. (2018), 5.3.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import TaggedExample
from unmask.data.rows import Row
from unmask.data.word_rows import NO_LABEL, WordRow, distinct_words, word_rows
from unmask.decode.labels import softmax
from unmask.decode.marginals import marginals
from unmask.decode.tags import (
    LETTERS,
    Entity,
    best_paths,
    convert,
    entities,
    legal_transitions,
    parts,
    spans_of,
    tags_of,
)
from unmask.errors import InputError
from unmask.model.about import About
from unmask.tasks.span_metrics import span_report
from unmask.tasks.task import LONGEST, Floats, Losses, Task, TaskBatch
from unmask.text.tokenizer import Tokenizer
from unmask.text.whole_words import whole_words
from unmask.text.word_spans import word_spans

if TYPE_CHECKING:
    from torch import Tensor

Scores = NDArray[np.floating]

ANY_SCHEME = "BIOES"  # has the letters of all schemes, and its spans are read by the same rules
CHAIN = "tags_crf"  # the head with a conditional random field


@dataclass(frozen=True)
class TaggedWords:
    """The tag of each word, and the entities that the tags mark in the text."""

    tags: tuple[str, ...]
    scheme: str
    entities: tuple[Entity, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> TaggedWords(("O",), "IOB2", ()).to_dict()
        {'entities': []}
        """
        return {"entities": [entity.to_dict() for entity in self.entities]}

    def tags_in(self, scheme: str) -> list[str]:
        """The tags as another scheme writes them.

        >>> TaggedWords(("B-PER", "I-PER"), "IOB2", ()).tags_in("BIOES")
        ['B-PER', 'E-PER']
        """
        return convert(self.tags, self.scheme, scheme)


@dataclass(frozen=True)
class Tagging(Task):
    """Which words belong to an entity, and of what type?

    >>> task = Tagging.learned_from([TaggedExample("Ann Lee", ((0, 3), (4, 7)), ("I-PER", "I-PER"))])
    >>> task.labels
    ('O', 'B-PER', 'I-PER')
    """

    kind = "tag"
    per_token = True

    labels: tuple[str, ...]
    scheme: str = "IOB2"  # of the labels, whatever that of the files is
    longest: int = LONGEST  # pieces of a row
    context: bool = False  # a sentence is read among its neighbours in the document
    whole_words: bool = True  # as its examples had it, so raw text is read: U.S. is one word, or four
    head: str = "tokens"

    @classmethod
    def learned_from(
        cls, examples: Sequence[TaggedExample], *, scheme: str = "IOB2", crf: bool = False, **options: Any
    ) -> Self:
        """The task with the types of its examples; tags in any scheme become those of `scheme`."""
        types = {type_ for example in examples for type_, _, _ in spans_of(example.tags or (), ANY_SCHEME)}
        if not types:
            raise InputError(f"{len(examples)} sentences without an entity", wanted="tags other than O to learn")
        options.setdefault("whole_words", have_whole_words(examples))
        return cls(labels_of(types, scheme), scheme, head=CHAIN if crf else cls.head, **options)

    @classmethod
    def of(cls, about: About, longest: int) -> Self:
        return cls(
            labels=about.labels,
            scheme=about.scheme or scheme_of(about.labels),
            longest=about.max_length or longest,
            context=about.context,
            whole_words=about.whole_words,
            head=about.head or cls.head,
        )

    @property
    def about(self) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "scheme": self.scheme,
            "max_length": self.longest,
            "context": self.context,
            "whole_words": self.whole_words,
            "long_text": "windows",
        }

    @property
    def outputs(self) -> int:
        return len(self.labels)

    @property
    def metric(self) -> str:
        return "f1"

    def rows(self, examples: Sequence[TaggedExample], tokenizer: Tokenizer) -> list[Row]:
        labels = None if any(example.tags is None for example in examples) else [self._numbers(e) for e in examples]
        read = [self.as_read(example) for example in examples]
        return [*word_rows(tokenizer, read, labels, longest=self.longest, context=self.context)]

    def as_read(self, example: TaggedExample) -> TaggedExample:
        """The example with the words that the model reads: where no tags hold them apart, whole ones if it knows them.

        >>> task, example = Tagging(("O", "B-LOC", "I-LOC")), TaggedExample("U.S.", ((0, 1), (1, 2), (2, 3), (3, 4)))
        >>> task.as_read(example).words
        ((0, 4),)
        """
        if example.tags is not None or not self.whole_words:
            return example
        return replace(example, words=whole_words(example.text, example.words))

    def losses(self, outputs: "Tensor", batch: TaskBatch) -> Losses:
        import torch
        import torch.nn.functional as F

        from unmask.model.crf import path_loss

        labelled = batch.targets != NO_LABEL  # (T,)
        expected = torch.from_numpy(batch.targets[labelled]).to(outputs.device)
        scores = outputs[torch.from_numpy(np.flatnonzero(labelled)).to(outputs.device)].float()  # (words, K)
        if self.head == CHAIN:
            words = np.add.reduceat(labelled, batch.ragged.starts, dtype=np.int64)  # (B,) in each row
            chain = outputs[len(labelled) :].float()
            loss = path_loss(scores, expected, torch.from_numpy(words).to(outputs.device), chain)
        else:
            loss = F.cross_entropy(scores, expected, reduction="sum")
        return {"tag": loss}, {"tag_accuracy": (scores.argmax(-1) == expected).sum()}

    def counts(self, batch: TaskBatch) -> Mapping[str, float]:
        return {"tag": float((batch.targets != NO_LABEL).sum())}

    def answers(
        self, examples: Sequence[TaggedExample], rows: Sequence[Row], outputs: Sequence[Floats]
    ) -> list[TaggedWords]:
        known = [self.as_read(example).words for example in examples]
        counts = [len(words) for words in known]
        scores, votes = voted(counts, rows, outputs)
        read = np.split(votes > 0, np.cumsum(counts)[:-1])  # of each sentence, which words anything could be read of
        scores = scores[votes > 0]
        sizes = [int(words.sum()) for words in read]
        chain = self._chain(rows, outputs)
        path = best_paths(scores, sizes, *chain)
        odds = marginals(scores, sizes, *chain) if self.head == CHAIN else softmax(scores)
        probabilities = odds[np.arange(len(path)), path]
        ends = np.cumsum(sizes)[:-1]
        return [
            self._answer(example, [own[n] for n in np.flatnonzero(some)], labels.tolist(), probable)
            for example, own, some, labels, probable in zip(
                examples, known, read, np.split(path, ends), np.split(probabilities, ends), strict=True
            )
        ]

    def scores(self, examples: Sequence[TaggedExample], answers: Sequence[TaggedWords]) -> dict[str, float]:
        expected = [convert(example.tags or (), ANY_SCHEME, self.scheme) for example in examples]
        report = span_report(expected, [answer.tags for answer in answers], self.scheme)
        types = {f"f1_{type_}": score.f1 for type_, score in report.types.items()}
        overall = report.overall
        figures = {"f1": overall.f1, "precision": overall.precision, "recall": overall.recall}
        return {**figures, "accuracy": report.accuracy, **types}

    def _numbers(self, example: TaggedExample) -> list[int]:
        """The label of each word."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        tags = convert(example.tags or (), ANY_SCHEME, self.scheme)
        for tag in tags:
            if tag not in numbers:
                known = sorted({parts(label, self.scheme)[1] for label in self.labels} - {""})
                raise InputError(
                    f"type {parts(tag, self.scheme)[1]!r} in {example.text[:60]!r}",
                    wanted=f"one of {', '.join(known)}",
                    do="mend the tag, or learn from examples that have it",
                )
        return [numbers[tag] for tag in tags]

    def _chain(self, rows: Sequence[Row], outputs: Sequence[Floats]) -> tuple[Scores, Scores, Scores]:
        """What each step, the first label and the last add to a path: the field's own or nothing; illegal is never."""
        start, transitions, end = legal_transitions(self.labels, self.scheme)
        if self.head == CHAIN and rows:
            learned = outputs[0][len(rows[0].ids) :]  # (K + 2, K): behind the tokens, the same for every row
            return transitions + learned[:-2], start + learned[-2], end + learned[-1]
        return transitions, start, end

    def _answer(
        self, example: TaggedExample, words: Sequence[tuple[int, int]], labels: Sequence[int], probabilities: Scores
    ) -> TaggedWords:
        """The answer from the labels of the words that were read; any word that lies within an entity is part of it."""
        tags = [self.labels[label] for label in labels]
        found = entities(example.text, words, tags, probabilities, self.scheme).entities
        first = {start: number for number, (start, _) in enumerate(example.words)}
        after = {end: number + 1 for number, (_, end) in enumerate(example.words)}
        spans = [(entity.type, first[entity.start], after[entity.end]) for entity in found]
        return TaggedWords(tuple(tags_of(spans, len(example.words), self.scheme)), self.scheme, found)


def labels_of(types: Iterable[str], scheme: str) -> tuple[str, ...]:
    """All labels that tell types apart in a scheme.

    >>> labels_of({"PER", "LOC"}, "IOB2")
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """
    if scheme not in LETTERS:
        raise InputError(f"tag scheme {scheme!r}", wanted=" or ".join(LETTERS))
    return ("O", *(f"{letter}-{type_}" for type_ in sorted(types) for letter in LETTERS[scheme] if letter != "O"))


def have_whole_words(examples: Iterable[TaggedExample]) -> bool:
    """Whether any word has marks within, as in most annotated English.

    >>> have_whole_words([TaggedExample("U.S.", ((0, 4),))]), have_whole_words([TaggedExample("北京", ((0, 1),))])
    (True, False)
    """
    return any(len(word_spans(word)) > 1 for word in distinct_words(examples))


def scheme_of(labels: Sequence[str]) -> str:
    """The scheme of a published model by its labels: in IOB1 a type may lack its B, since few spans are marked by one.

    >>> scheme_of(["O", "B-LOC", "I-LOC", "I-PER"]), scheme_of(["O", "B-PER", "I-PER"]), scheme_of(["O", "S-LOC"])
    ('IOB1', 'IOB2', 'BIOES')
    """
    tags = [parts(label, ANY_SCHEME) for label in labels]
    if any(letter in "ES" for letter, _ in tags):
        return "BIOES"
    types = {type_ for letter, type_ in tags if letter != "O"}
    return "IOB2" if types <= {type_ for letter, type_ in tags if letter == "B"} else "IOB1"


def voted(counts: Sequence[int], rows: Sequence[Row], outputs: Sequence[Floats]) -> tuple[Scores, Scores]:
    """The scores of all words, sentences of these counts end to end, and how many votes they had; no votes, no scores.

    Of a word that several windows hold, each window's vote counts as much as the word is far from its nearer edge.

    >>> row = WordRow([2, 7, 8, 3], [0] * 4, 0, words=np.array([0, 2]), places=np.array([1, 2]))
    >>> voted([3], [row], [np.array([[0.0], [5.0], [6.0], [0.0]])])
    (array([[5.],
           [0.],
           [6.]]), array([1., 0., 1.]))
    """  # (words, K), (words,)
    firsts = np.cumsum([0, *counts])
    own = [row for row in rows if isinstance(row, WordRow)]
    words = np.concatenate([firsts[row.example] + row.words for row in own])
    votes = np.concatenate([np.minimum(row.places, len(row.ids) - 1 - row.places) for row in own])
    scores = np.concatenate([output[row.places] for row, output in zip(own, outputs, strict=True)])
    sums, weights = np.zeros((firsts[-1], scores.shape[1])), np.zeros(firsts[-1])
    np.add.at(sums, words, scores * votes[:, None])
    np.add.at(weights, words, votes)
    return sums / np.maximum(weights, 1.0)[:, None], weights
