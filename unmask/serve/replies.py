"""The shapes of all answers, for the description at /docs; the answers themselves come from the models as they are."""

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel


class Problem(BaseModel):
    """What was wrong, in words."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class Fault(BaseModel):
    """The answer to every request that cannot be answered."""

    error: Problem


class Unanswered(BaseModel):
    """What stands in place of an answer in a list."""

    error: str


class Candidate(BaseModel):
    token: str
    probability: float


class Mask(BaseModel):
    start: int
    end: int
    candidates: list[Candidate]


class Filled(BaseModel):
    text: str
    masks: list[Mask]


class CarryingWord(BaseModel):
    text: str
    start: int
    end: int
    score: float = Field(description="Above zero it speaks for the likeliest class, below zero against it.")
    part: int = Field(description="0: it stands in the text; 1: in the second text of a pair.")


class Classified(BaseModel):
    label: str | None = Field(description="None where the confidence is below the threshold.")
    confidence: float = Field(description="The probability of the likeliest class, calibrated on held-out examples.")
    abstained: bool
    probabilities: dict[str, float]
    sentiment: Literal["positive", "negative", "neutral"] | None = Field(
        None, description="Where the labels are sides of a feeling; neutral also where neither of two sides is strong."
    )
    words: list[CarryingWord] | None = Field(None, description="The words that carried it, the strongest first.")


class MultiLabelled(BaseModel):
    labels: list[str]
    probabilities: dict[str, float]


class Valued(BaseModel):
    value: float


class Entity(BaseModel):
    type: str
    start: int
    end: int
    text: str
    score: float


class Tagged(BaseModel):
    entities: list[Entity]


class Span(BaseModel):
    answer: str
    start: int
    end: int
    score: float


class Answer(BaseModel):
    answer: str | None
    start: int | None
    end: int | None
    score: float
    no_answer_probability: float
    nbest: list[Span]
    source: str | None = Field(None, description="The document that the answer stands in.")
    sentence: str | None = Field(None, description="The sentence of the document that holds it.")


class FaqCandidate(BaseModel):
    question: str
    answer: str
    score: float


class FaqAnswered(BaseModel):
    answer: str | None = Field(description="None where no known question is close enough.")
    score: float
    candidates: list[FaqCandidate]


class ManyFaqAnswered(BaseModel):
    answers: list[FaqAnswered | Unanswered]


class Faq(RootModel[FaqAnswered | ManyFaqAnswered]):
    pass


class ChatCandidate(BaseModel):
    answer: str
    score: float
    source: Literal["dialogue", "faq", "documents"]


class Chat(BaseModel):
    answer: str | None = Field(description="None where nothing is known to say.")
    score: float
    source: Literal["dialogue", "faq", "documents"] | None
    candidates: list[ChatCandidate]
    again: str | None = Field(None, description="What would be the answer, had it not been said here already.")
    conversation: str = Field(description="The id with which to go on.")


class Turn(BaseModel):
    speaker: Literal["user", "bot"]
    text: str
    time: float


class Conversation(BaseModel):
    conversation: str
    turns: list[Turn]


class Faithfulness(BaseModel):
    comprehensiveness: float
    sufficiency: float
    random: float
    p: float


class Explain(BaseModel):
    label: str = Field(description="What is explained.")
    score: float
    probability: float | None = None
    method: str
    tokens: list[str]
    parts: list[int] = Field(description="Which of the texts each word stands in.")
    offsets: list[tuple[int, int]]
    scores: list[float] = Field(description="Above zero a word speaks for the label, below zero against it.")
    faithfulness: Faithfulness


class Embedding(BaseModel):
    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    prompt_tokens: int
    total_tokens: int


class Embeddings(BaseModel):
    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: Usage


class Model(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    asks: list[str] = Field(description="What can be asked of it, as in /v1/fill.")
    engine: str
    labels: list[str]


class Models(BaseModel):
    object: Literal["list"]
    data: list[Model]


class ManyFilled(BaseModel):
    answers: list[Filled | Unanswered]


class ManyClassified(BaseModel):
    answers: list[Classified | MultiLabelled | Valued | Unanswered]


class ManyTagged(BaseModel):
    answers: list[Tagged | Unanswered]


class Fill(RootModel[Filled | ManyFilled]):
    pass


class Classify(RootModel[Classified | MultiLabelled | Valued | ManyClassified]):
    pass


class Tag(RootModel[Tagged | ManyTagged]):
    pass


class Health(BaseModel):
    status: str


FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"model": Fault, "description": "The body is no JSON."},
    401: {"model": Fault, "description": "The token is missing or wrong."},
    404: {"model": Fault, "description": "No such model or conversation."},
    408: {"model": Fault, "description": "The body did not arrive in time."},
    413: {"model": Fault, "description": "The body is too large."},
    422: {"model": Fault, "description": "The body is not as it should be, or the text cannot be answered."},
    429: {"model": Fault, "description": "Too many requests are waiting; Retry-After says when to come back."},
    500: {"model": Fault, "description": "A fault of the server."},
    503: {"model": Fault, "description": "The server is stopping."},
    504: {"model": Fault, "description": "Not answered in time."},
}
