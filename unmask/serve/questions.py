"""Questions as they wait for their batch, and the application that answers them: a batch of questions in, an outcome
for each out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Ask = Callable[[list[Any]], Sequence[Any]]
CANDIDATES = 5  # for a mask, unless asked otherwise


@dataclass(frozen=True)
class ToFill:
    """A text with masks, and how many candidates are wanted for each."""

    text: str
    top: int = CANDIDATES


@dataclass(frozen=True)
class ToClassify:
    """A text or a pair, how sure an answer to it must be, and whether the words that carried it are wanted."""

    text: str
    pair: str | None = None
    threshold: float = 0.0
    words: bool = False
    neutral_below: float | None = None  # of two sides of a feeling; none: as the application has it


@dataclass(frozen=True)
class ToExplain:
    """A text or a pair whose answer is to be explained, or another target than the answer."""

    text: str
    pair: str | None = None
    target: str | None = None
    method: str = "ig"


@dataclass(frozen=True)
class ToAsk:
    """A question to documents or frequent questions."""

    question: str


@dataclass(frozen=True)
class ToSay:
    """What is said in a conversation, and all that was said in it before, the oldest first."""

    text: str
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """An example of one of a model's asks, as it waits for its batch."""

    ask: str
    example: Any
    weight: int = 0  # roughly what it costs, in characters


@dataclass(frozen=True)
class Application:
    """An opened folder by what can be asked of it."""

    engine: str  # who computes
    asks: Mapping[str, Ask]
    labels: Sequence[str] = ()
    opened: Any = None  # the application of a folder that has one, for those served beside it

    def __call__(self, questions: list[Question]) -> list[Any]:
        """The answers of a batch; questions of one ask go through together."""
        answers: list[Any] = [None] * len(questions)
        for ask in dict.fromkeys(question.ask for question in questions):
            places = [place for place, question in enumerate(questions) if question.ask == ask]
            found = self.asks[ask]([questions[place].example for place in places])
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        return answers
