"""What can be asked over HTTP, a class for each request: its fields, its limits, its questions and its answer."""

import base64
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from unmask.apps.refusing import Refused
from unmask.apps.sentiment import NEUTRAL_BELOW
from unmask.apps.vectors import Vector
from unmask.data.examples import QuestionExample, TextExample
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.serve import replies
from unmask.serve.asked import Asked, Text, Texts, answer_of, listed, question_of, told_of
from unmask.serve.batcher import LARGEST
from unmask.serve.questions import CANDIDATES, Question, ToAsk, ToClassify, ToExplain, ToFill

MOST_MASKS = 64  # in a text: each takes as much memory as the vocabulary is long
MOST_CANDIDATES = 100
MASK_WEIGHT = 256  # what a mask costs beside its characters: scores of the whole vocabulary
LONGEST_EXPLAINED = 2_000  # characters: an explanation computes the text hundreds of times


class OfTexts(Asked):
    """A request for one text or several."""

    text: Text | Texts = Field(description="One text, or a list of them.")

    def questions(self) -> list[Question]:
        return [question_of(self.ask, self.example(number)) for number in range(len(listed(self.text)))]

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        return told_of(self.text, outcomes)

    @abstractmethod
    def example(self, number: int) -> Any:
        """One of the texts as an example."""


class Fill(OfTexts):
    """Texts with [MASK] at each place to fill."""

    path, ask, summary, reply = "/v1/fill", "fill", "The likeliest words for each [MASK] of a text", replies.Fill
    examples: ClassVar = {
        "one text": {"text": "The sky is [MASK] today.", "top": 3},
        "两个句子": {"text": ["今天天气很[MASK]。", "我[MASK]你。"]},
    }

    top: int = Field(CANDIDATES, ge=1, le=MOST_CANDIDATES, description="How many candidates for each mask.")

    def questions(self) -> list[Question]:
        return [
            question_of(self.ask, ToFill(text, self.top), MASK_WEIGHT * text.count("[MASK]"))
            for text in listed(self.text)
        ]

    def example(self, number: int) -> ToFill:
        return ToFill(listed(self.text)[number], self.top)

    @model_validator(mode="after")
    def _not_too_many_masks(self) -> "Fill":
        most = max(text.count("[MASK]") for text in listed(self.text))
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
        "only where it is sure, and why": {"text": "I would see it again.", "threshold": 0.8, "words": True},
        "neutral only where it is a toss-up": {
            "text": "一点也不好看。",
            "neutral_below": 0.6,
            "model": "default:sentiment",
        },
    }

    pair: Text | Texts | None = Field(None, description="The second text of each pair, where the model reads pairs.")
    threshold: float = Field(0.0, ge=0, le=1, description="Give no label where the confidence is lower.")
    words: bool = Field(False, description="Whether to show the words that carried it; needs a model in torch.")
    neutral_below: float | None = Field(
        None,
        ge=0,
        le=1,
        description=f"Of labels that are two sides of a feeling: neutral where both are lower; {NEUTRAL_BELOW} if not "
        "given. A model of three sides says itself what is neutral; one of other labels refuses it.",
    )

    @property
    def lengthy(self) -> bool:
        return self.words

    def questions(self) -> list[Question]:
        more = LARGEST if self.words else 0  # one at a time: words are an explanation
        return [question_of(self.ask, self.example(number), more) for number in range(len(listed(self.text)))]

    def example(self, number: int) -> ToClassify:
        pair = self.pair if isinstance(self.pair, str | None) else self.pair[number]
        return ToClassify(listed(self.text)[number], pair, self.threshold, self.words, self.neutral_below)

    @model_validator(mode="after")
    def _short_enough_for_words(self) -> "Classify":
        longest = max(map(len, [*listed(self.text), *listed(self.pair or "")]))
        if self.words and longest > LONGEST_EXPLAINED:
            raise ValueError(f"a text of {longest:,} characters; wanted at most {LONGEST_EXPLAINED:,} with words")
        return self

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
        return untagged(listed(self.text)[number])


class Answer(Asked):
    """A question, and the text that may answer it; without one, the documents of an indexed folder are searched."""

    path, ask, reply = "/v1/answer", "answer", replies.Answer
    summary = "The answer to a question, in a text or in documents"
    examples: ClassVar = {
        "English": {"question": "Who lit the lamp?", "context": "It was dark, so Ann lit the lamp."},
        "中文": {"question": "谁点了灯？", "context": "天黑了，安点了灯。"},
    }

    question: Text
    context: Text | None = Field(None, description="The text; without it the documents of a folder are searched.")

    @property
    def wanted(self) -> str:
        return "documents" if self.context is None else self.ask

    def questions(self) -> list[Question]:
        if self.context is None:
            return [question_of(self.wanted, ToAsk(self.question), LARGEST // 8)]  # many passages are read for it
        return [question_of(self.ask, QuestionExample(self.question, self.context))]

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        return answer_of(outcomes[0])

    @model_validator(mode="after")
    def _is_asked(self) -> "Answer":
        _check_asked(self.question)
        return self


class Faq(Asked):
    """One question or several, in anybody's words."""

    path, ask, reply = "/v1/faq", "faq", replies.Faq
    summary = "The answer of the frequent question that means the same, or none and the closest ones"
    examples: ClassVar = {
        "one question": {"question": "How do I stop the server?"},
        "several": {"question": ["How do I stop the server?", "怎么停掉服务器？"]},
    }

    question: Text | Texts = Field(description="One question, or a list of them.")

    def questions(self) -> list[Question]:
        return [question_of(self.ask, ToAsk(question)) for question in listed(self.question)]

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        return told_of(self.question, outcomes)

    @model_validator(mode="after")
    def _is_asked(self) -> "Faq":
        for question in listed(self.question):
            _check_asked(question)
        return self


class Explain(Asked):
    """A text whose answer is to be explained."""

    path, ask, reply = "/v1/explain", "explain", replies.Explain
    summary = "Which words decided an answer, and how true that explanation is to the model"
    examples: ClassVar = {
        "the model's own answer": {"text": "The sky is [MASK] today."},
        "另一个目标": {"text": "今天天气很[MASK]。", "target": "好", "method": "erasure"},
    }

    text: str = Field(max_length=LONGEST_EXPLAINED)
    pair: str | None = Field(
        None, max_length=LONGEST_EXPLAINED, description="The second text, or the text that a question is about."
    )
    target: str | None = Field(
        None, max_length=200, description="What to explain in place of the model's answer: a label, a word, 'Rome=LOC'."
    )
    method: Literal["ig", "gradient", "erasure", "shapley", "attention"] = Field(
        "ig", description="Integrated gradients, gradient x input, leave-one-out, Shapley values or attention rollout."
    )

    @property
    def lengthy(self) -> bool:
        return True

    def questions(self) -> list[Question]:
        example = ToExplain(self.text, self.pair, self.target, self.method)
        return [question_of(self.ask, example, LARGEST)]  # a batch of its own

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        return answer_of(outcomes[0])


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
        return [question_of(self.ask, TextExample(text)) for text in listed(self.input)]

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


REQUESTS: tuple[type[Asked], ...] = (Fill, Classify, Tag, Answer, Faq, Explain, Embeddings)


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
                "labels": list(served.application.labels),
            }
            for served in models
        ],
    }


def _check_asked(question: str) -> None:
    if not question.strip():
        raise ValueError("an empty question; wanted a question")


def _vector(number: int, outcome: Any) -> Vector:
    if isinstance(outcome, Vector):
        return outcome
    if isinstance(outcome, Refused):
        raise InputError(f"input[{number}]: {outcome.error.removeprefix('got ')}")
    raise outcome
