"""Labelled examples as readers give them and tasks take them: a text or two, tagged words, a question, a choice.

In: what a line of a labelled file says. Out: frozen values with the text as the user wrote it.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TextExample:
    """A text, or a pair of texts, and what is to be said of it."""

    text: str
    pair: str | None = None
    label: str | tuple[str, ...] | float | None = None  # a class, several, a value; none where it is asked for
    id: str = ""  # the row's own name, for answer files
    negative: str | None = None  # a text that only seems to belong to `text`, where embeddings are learned


@dataclass(frozen=True)
class TaggedExample:
    """A sentence whose words have tags, such as entities in IOB."""

    text: str
    words: tuple[tuple[int, int], ...]  # where each word stands in the text
    tags: tuple[str, ...] | None = None  # one for each word; none where they are asked for
    document: int = -1  # sentences of one document follow one another under one number; -1: it stands alone

    def word(self, number: int) -> str:
        """The word itself.

        >>> TaggedExample("Ann sang", ((0, 3), (4, 8))).word(1)
        'sang'
        """
        start, end = self.words[number]
        return self.text[start:end]


@dataclass(frozen=True)
class GivenAnswer:
    """An answer as it stands in the context."""

    text: str
    start: int  # its first character in the context


@dataclass(frozen=True)
class QuestionExample:
    """A question on a context, and the answers that count as right: none at all where the context does not say."""

    question: str
    context: str
    answers: tuple[GivenAnswer, ...] | None = None  # none where they are asked for, empty where there is no answer
    id: str = ""


@dataclass(frozen=True)
class ChoiceExample:
    """A context and what might follow or answer it; one of the endings is right."""

    context: str
    endings: tuple[str, ...]
    label: int | None = None  # the number of the right one
    question: str = ""  # asked of the context; each ending is then an answer to it
    id: str = ""


@dataclass(frozen=True)
class Reading:
    """The examples of a file and what had to be left out or repaired on the way."""

    examples: tuple[Any, ...]
    notes: tuple[str, ...] = field(default=())  # such as "3 empty texts left out", for people
    places: tuple[str, ...] = field(default=())  # where each example stands, file and line, for messages
