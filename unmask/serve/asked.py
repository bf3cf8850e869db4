"""What every request over HTTP has in common: a body in, questions for a model out, and its outcomes told as JSON.

A request is for one text or for a list of them. One text gets its answer as the command line gives it, a list gets
`{"answers": […]}`, in which a text that cannot be answered has `{"error": …}` in its place.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from unmask.apps.refusing import Refused
from unmask.errors import InputError
from unmask.serve.batcher import OVERHEAD
from unmask.serve.questions import Question

MOST_TEXTS = 2048  # in a request
LONGEST = 100_000  # characters of a text
MOST_CHARACTERS = 1_000_000  # in a request

Text = Annotated[str, Field(max_length=LONGEST)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]


class Asked(BaseModel, ABC):
    """A request to a model."""

    model_config = ConfigDict(extra="forbid")

    path: ClassVar[str]
    ask: ClassVar[str]
    summary: ClassVar[str]
    reply: ClassVar[Any]  # the shape of its answer, for the description
    examples: ClassVar[dict[str, dict[str, Any]]]  # by what they show

    model: str | None = Field(None, description="A name that /v1/models lists; the first fitting one if not given.")

    @property
    def wanted(self) -> str:
        """What the model must be able to do."""
        return self.ask

    @property
    def lengthy(self) -> bool:
        """Whether it takes so long that others must not wait for it."""
        return False

    @abstractmethod
    def questions(self) -> list[Question]:
        """What the model is to answer."""

    @abstractmethod
    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        """The answer as JSON has it."""

    @model_validator(mode="after")
    def _not_too_much(self) -> "Asked":
        characters = sum(len(text) for text in texts_of(self.__dict__.values()))
        if characters > MOST_CHARACTERS:
            raise ValueError(f"{characters:,} characters; wanted at most {MOST_CHARACTERS:,} in a request")
        return self


def told_of(given: str | list[str], outcomes: Sequence[Any]) -> dict[str, Any]:
    """The answer to one text, or the answers to a list."""
    if isinstance(given, str):
        return answer_of(outcomes[0])
    return {"answers": [answer_or_fault(outcome) for outcome in outcomes]}


def answer_of(outcome: Any) -> dict[str, Any]:
    """An answer as JSON has it; that there is none is an error in words.

    >>> answer_of(Refused("got a NUL character"))
    Traceback (most recent call last):
    unmask.errors.InputError: got a NUL character
    """
    if isinstance(outcome, Refused):
        raise InputError(outcome.error.removeprefix("got "))
    if isinstance(outcome, Exception):
        raise outcome
    told: dict[str, Any] = outcome.to_dict()
    return told


def answer_or_fault(outcome: Any) -> dict[str, Any]:
    """The same, where an example's fault stands in place of its answer.

    >>> answer_or_fault(Refused("got a NUL character"))
    {'error': 'got a NUL character'}
    """
    try:
        return answer_of(outcome)
    except InputError as error:
        return {"error": str(error)}


def listed(given: str | list[str]) -> list[str]:
    """The texts of a request, be it one or several.

    >>> listed("one"), listed(["one", "two"])
    (['one'], ['one', 'two'])
    """
    return [given] if isinstance(given, str) else given


def question_of(ask: str, example: Any, more: int = 0) -> Question:
    """A question that weighs as much as there is to read, and more where that is not all.

    >>> from unmask.data.examples import TextExample
    >>> question_of("tag", TextExample("a dog")).weight - OVERHEAD
    5
    """
    return Question(ask, example, OVERHEAD + more + sum(map(len, texts_of(vars(example).values()))))


def texts_of(values: Iterable[Any]) -> Iterable[str]:
    """The texts among values and lists of values.

    >>> [*texts_of(["a", 1, ["b", "c"], None])]
    ['a', 'b', 'c']
    """
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from (part for part in value if isinstance(part, str))
