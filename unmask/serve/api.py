"""What can be asked over HTTP: request bodies -> questions for a model, and the model's outcomes -> answers, all pure.

A request is for one text or for a list of them. One text gets its answer as the command line gives it, a list gets
`{"answers": […]}`, in which a text that cannot be answered has `{"error": …}` in its place.
"""

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from unmask.apps.refusing import Refused
from unmask.apps.vectors import Vector
from unmask.data.examples import QuestionExample, TextExample
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.serve import replies
from unmask.serve.application import CANDIDATES, Question, ToFill
from unmask.serve.batcher import OVERHEAD

MOST_TEXTS = 2048  # in a request
LONGEST = 100_000  # characters of a text
MOST_CHARACTERS = 1_000_000  # in a request
MOST_MASKS = 64  # in a text: each takes as much memory as the vocabulary is long
MOST_CANDIDATES = 100
MASK_WEIGHT = 256  # what a mask costs beside its characters: scores of the whole vocabulary

Text = Annotated[str, Field(max_length=LONGEST)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]


class Asked(BaseModel, ABC):
    """What every request has in common."""

    model_config = ConfigDict(extra="forbid")

    path: ClassVar[str]
    ask: ClassVar[str]
    summary: ClassVar[str]
    reply: ClassVar[Any]  # the shape of its answer, for the description
    examples: ClassVar[dict[str, dict[str, Any]]]  # by what they show

    model: str | None = Field(None, description="A name that /v1/models lists; the first fitting one if not given.")

    @abstractmethod
    def questions(self) -> list[Question]:
        """What the model is to answer."""

    @abstractmethod
    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        """The answer as JSON has it."""

    @model_validator(mode="after")
    def _not_too_much(self) -> "Asked":
        characters = sum(len(text) for text in _texts(self.__dict__.values()))
        if characters > MOST_CHARACTERS:
            raise ValueError(f"{characters:,} characters; wanted at most {MOST_CHARACTERS:,} in a request")
        return self


class OfTexts(Asked):
    """A request for one text or several."""

    text: Text | Texts = Field(description="One text, or a list of them.")

    def questions(self) -> list[Question]:
        return [_question(self.ask, self.example(number)) for number in range(len(self._list()))]

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        if isinstance(self.text, str):
            return answer_of(outcomes[0])
        return {"answers": [answer_or_fault(outcome) for outcome in outcomes]}

    @abstractmethod
    def example(self, number: int) -> Any:
        """One of the texts as an example."""

    def _list(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text


class Fill(OfTexts):
    """Texts with [MASK] at each place to fill."""

    path, ask, summary, reply = "/v1/fill", "fill", "The likeliest words for each [MASK] of a text", replies.Fill
    examples: ClassVar = {
        "one text": {"text": "The sky is [MASK] today.", "top": 3},
        "两个句子": {"text": ["今天天气很[MASK]。", "我[MASK]你。"]},
    }

    top: int = Field(CANDIDATES, ge=1, le=MOST_CANDIDATES, description="How many candidates for each mask.")

    def example(self, number: int) -> ToFill:
        return ToFill(self._list()[number], self.top)

    @model_validator(mode="after")
    def _not_too_many_masks(self) -> "Fill":
        most = max(text.count("[MASK]") for text in self._list())
        if most > MOST_MASKS:
            raise ValueError(f"a text with {most} masks; wanted at most {MOST_MASKS}")
        return self


class Classify(OfTexts):
    """Texts or pairs of texts."""

    path, ask, summary = "/v1/classify", "classify", "The class, classes or value of a text or a pair of texts"
    reply = replies.Classify
    examples: ClassVar = {
        "one text": {"text": "I would see it again."},
        "several": {"text": ["I would see it again.", "一点也不好看。"]},
        "a pair": {"text": "Where is the key?", "pair": "Have you seen the key?"},
    }

    pair: Text | Texts | None = Field(None, description="The second text of each pair, where the model reads pairs.")

    def example(self, number: int) -> TextExample:
        pair = self.pair if isinstance(self.pair, str | None) else self.pair[number]
        return TextExample(self._list()[number], pair)

    @model_validator(mode="after")
    def _as_many_pairs(self) -> "Classify":
        if self.pair is not None and isinstance(self.pair, str) != isinstance(self.text, str):
            raise ValueError("one text and one pair, or a list of each")
        if isinstance(self.pair, list) and len(self.pair) != len(self.text):
            raise ValueError(f"{len(self.text)} texts and {len(self.pair)} pairs; wanted as many of each")
        return self


class Tag(OfTexts):
    """Texts to find entities in."""

    path, ask, summary, reply = "/v1/tag", "tag", "The entities of a text, by their places in it", replies.Tag
    examples: ClassVar = {
        "one text": {"text": "Ann Lee moved from Oslo to Lima."},
        "中文": {"text": ["李安住在北京。"]},
    }

    def example(self, number: int) -> Any:
        return untagged(self._list()[number])


class Answer(Asked):
    """A question and the text that may answer it."""

    path, ask, summary, reply = "/v1/answer", "answer", "The answer to a question in a text", replies.Answer
    examples: ClassVar = {
        "English": {"question": "Who lit the lamp?", "context": "It was dark, so Ann lit the lamp."},
        "中文": {"question": "谁点了灯？", "context": "天黑了，安点了灯。"},
    }

    question: Text
    context: Text

    def questions(self) -> list[Question]:
        return [_question(self.ask, QuestionExample(self.question, self.context))]

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        return answer_of(outcomes[0])

    @model_validator(mode="after")
    def _is_asked(self) -> "Answer":
        if not self.question.strip():
            raise ValueError("an empty question; wanted a question")
        return self


class Embeddings(Asked):
    """Texts to embed, as OpenAI's clients ask."""

    model_config = ConfigDict(extra="ignore")  # what other servers know may be said here too

    path, ask, summary = "/v1/embeddings", "embeddings", "The vector of a text, as OpenAI's clients read it"
    reply = replies.Embeddings
    examples: ClassVar = {
        "one text": {"input": "The harbour at night."},
        "several": {"input": ["The harbour at night.", "夜晚的港口。"], "encoding_format": "base64"},
    }

    input: Text | Texts = Field(description="One text, or a list of them.")
    encoding_format: Literal["float", "base64"] = Field(
        "float", description="Numbers, or little-endian float32 in base64."
    )
    dimensions: int | None = Field(None, ge=1, description="How long the vectors are; only the model's own width.")

    def questions(self) -> list[Question]:
        texts = [self.input] if isinstance(self.input, str) else self.input
        return [_question(self.ask, TextExample(text)) for text in texts]

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        vectors = [_vector(number, outcome) for number, outcome in enumerate(outcomes)]
        width = len(vectors[0].values)
        if self.dimensions not in (None, width):
            raise InputError(f"dimensions {self.dimensions}", wanted=f"{width}, the width of {model!r}")
        pieces = sum(vector.pieces for vector in vectors)
        data = [
            {"object": "embedding", "index": number, "embedding": self._written(vector)}
            for number, vector in enumerate(vectors)
        ]
        return {
            "object": "list",
            "data": data,
            "model": model,
            "usage": {"prompt_tokens": pieces, "total_tokens": pieces},
        }

    def _written(self, vector: Vector) -> list[float] | str:
        if self.encoding_format == "float":
            numbers: list[float] = vector.values.tolist()
            return numbers
        return base64.b64encode(vector.values.astype("<f4").tobytes()).decode("ascii")


REQUESTS: tuple[type[Asked], ...] = (Fill, Classify, Tag, Answer, Embeddings)


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


def model_list(models: Iterable[Any]) -> dict[str, Any]:
    """The served models as OpenAI's clients list them, each with what can be asked of it."""
    return {
        "object": "list",
        "data": [
            {
                "id": served.name,
                "object": "model",
                "created": int(served.since),
                "owned_by": "unmask",
                "asks": list(served.asks),
                "engine": served.application.engine,
                "labels": list(served.application.about.labels),
            }
            for served in models
        ],
    }


def _vector(number: int, outcome: Any) -> Vector:
    if isinstance(outcome, Vector):
        return outcome
    if isinstance(outcome, Refused):
        raise InputError(f"input[{number}]: {outcome.error.removeprefix('got ')}")
    raise outcome


def _question(ask: str, example: Any) -> Question:
    """A question that weighs as much as there is to read and to fill."""
    texts = [*_texts(vars(example).values())]
    masks = sum(text.count("[MASK]") for text in texts) if ask == Fill.ask else 0
    return Question(ask, example, OVERHEAD + sum(map(len, texts)) + MASK_WEIGHT * masks)


def _texts(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from value
