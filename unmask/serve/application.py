"""What can be asked of a model folder: a folder in, for each ask (fill, classify, tag, answer, embeddings) the function
that answers a batch of its examples out. Serving folders answer by onnxruntime, model folders by torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.predict import Predictor
from unmask.apps.refusing import Refused, fault_of
from unmask.apps.vectors import Embedding
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.named import find_model
from unmask.runtime.folder import ServingFolder, is_serving_folder, open_serving
from unmask.tasks.embedding import TextEmbedding

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

Ask = Callable[[list[Any]], list[Any]]
ASKS = {"classify": "classify", "regress": "classify", "tag": "tag", "answer": "answer"}  # kind of task: ask
FILLING = ("pretraining", "masked_words")  # heads that fill masks
CANDIDATES = 5  # for a mask, unless asked otherwise


@dataclass(frozen=True)
class ToFill:
    """A text with masks, and how many candidates are wanted for each."""

    text: str
    top: int = CANDIDATES


@dataclass(frozen=True)
class Question:
    """An example of one of a model's asks, as it waits for its batch."""

    ask: str
    example: Any
    weight: int = 0  # roughly what it costs, in characters


@dataclass(frozen=True)
class Application:
    """An opened model by what can be asked of it."""

    engine: str  # who computes
    about: About
    asks: Mapping[str, Ask]

    def __call__(self, questions: list[Question]) -> list[Any]:
        """The answers of a batch; questions of one ask go through together."""
        answers: list[Any] = [None] * len(questions)
        for ask in dict.fromkeys(question.ask for question in questions):
            places = [place for place, question in enumerate(questions) if question.ask == ask]
            found = self.asks[ask]([questions[place].example for place in places])
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        return answers


def open_application(name: Path | str, *, threads: int | None = None) -> Application:
    """Opens a folder or a named model, with the fastest engine that it has."""
    folder = find_model(name)
    if is_serving_folder(folder):
        return of_serving(open_serving(folder, threads=threads), str(name))
    from unmask.model.folder import open_model

    return of_model(open_model(name), str(name))


def of_serving(opened: ServingFolder, name: str = "the model") -> Application:
    """What an exported model answers."""
    head, engine = opened.about.head, opened.engine
    if head is None:
        return Application(engine.name, opened.about, {"embeddings": Embedding.of(opened, name).many})
    if head in FILLING:
        raise InputError(f"{name}, a serving folder that fills masks", wanted="a model folder", do="serve that one")
    return _of_predictor(Predictor.of_serving(opened, name), name)


def of_model(opened: "ModelFolder", name: str = "the model") -> Application:
    """What a model that is open in torch answers; an encoder without a task gives vectors, the mean of its tokens."""
    head = opened.about.head
    if head is not None and head not in FILLING:
        return _of_predictor(Predictor.of_model(opened, name), name)
    asks: dict[str, Ask] = {"embeddings": Embedding.of(opened, name).many}
    if head in FILLING:
        from unmask.apps.fill import Filler

        asks = {"fill": partial(_fill, Filler(opened.model, opened.tokenizer)), **asks}
    return Application("torch", opened.about, asks)


def _of_predictor(predictor: Predictor, name: str) -> Application:
    kind = predictor.task.kind
    if isinstance(predictor.task, TextEmbedding):
        embedding = Embedding(predictor.task, predictor.tokenizer, predictor.outputs, taught=True)
        return Application(predictor.engine, predictor.about, {"embeddings": embedding.many})
    if kind not in ASKS:
        raise InputError(f"{name}, a model for {kind!r}", wanted=f"one for {', '.join(ASKS)}, embed, or to fill masks")
    return Application(predictor.engine, predictor.about, {ASKS[kind]: predictor.many})


def _fill(filler: Any, examples: list[ToFill]) -> list[Any]:
    """The candidates of each text's masks: as many as the most that anyone wants are looked for, and cut to each."""
    answers: list[Any] = [fault_of(example) or _without_mask(example) for example in examples]
    sound = [place for place, fault in enumerate(answers) if fault is None]
    if sound:
        most = max(examples[place].top for place in sound)
        found = filler.many([examples[place].text for place in sound], top=most)
        for place, filled in zip(sound, found, strict=True):
            top = examples[place].top
            masks = tuple(replace(mask, candidates=mask.candidates[:top]) for mask in filled.masks)
            answers[place] = replace(filled, masks=masks)
    return answers


def _without_mask(example: ToFill) -> Refused | None:
    """Found before the batch is tried: looking for one such text among thousands by halves takes seconds."""
    if "[MASK]" in example.text:
        return None
    return Refused(str(InputError("a text without [MASK]", wanted="[MASK] at each place to fill")))
