"""What can be asked of a folder: a model's or an application's folder in, for each ask (fill, classify, tag, answer,
embeddings, explain; documents, faq, chat) the function that answers a batch of its examples out. Answers come from
onnxruntime, for model folders by an export in memory where it is small; torch explains them.
"""

from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unmask.apps.app_folder import read_app
from unmask.apps.fill import Filler
from unmask.apps.predict import Predictor, open_any, the_model
from unmask.apps.refusing import Refused, fault_of
from unmask.apps.vectors import Embedding
from unmask.errors import InputError
from unmask.model.named import EMBEDDED, find_model
from unmask.runtime.folder import ServingFolder
from unmask.serve.app_folders import of_app, of_builtin_chat
from unmask.serve.classifying import classifying
from unmask.serve.questions import Application, Ask, ToExplain, ToFill
from unmask.tasks.embedding import TextEmbedding

if TYPE_CHECKING:
    from unmask.model.bert import Bert
    from unmask.model.folder import ModelFolder
    from unmask.model.heads import BertWithHead

Model = TypeVar("Model", bound="Bert | BertWithHead")

ASKS = {"classify": "classify", "regress": "classify", "tag": "tag", "answer": "answer"}  # kind of task: ask
BUILTIN_CHAT = EMBEDDED / "chat"
FILLING = ("pretraining", "masked_words")  # heads that fill masks
LIGHT = 500_000_000  # bytes of a model that may lie in memory a second and a third time: base, not large


def open_application(name: Path | str, *, threads: int | None = None) -> Application:
    """Opens a folder or a named model, with the fastest engine that it has."""
    folder = find_model(name)
    if folder == BUILTIN_CHAT:
        return of_builtin_chat()
    app = read_app(folder)
    if app is not None:
        return of_app(folder, app["app"], threads=threads)
    return of_model(open_any(name, threads=threads), str(name))


def of_model(opened: "ServingFolder | ModelFolder", name: str = "the model") -> Application:
    """What a model answers; one that is open in torch explains its answers too."""
    if isinstance(opened, ServingFolder):
        return Application(opened.engine.name, _asks(opened, opened, name), opened.about.labels)
    from unmask.compress.model_engine import can_be_exported, in_memory

    quick = in_memory(opened) if can_be_exported(opened, within=LIGHT) else None
    twin = replace(opened, model=twin_of(opened.model))
    asks = _asks(quick or opened, twin, name)
    if opened.about.head in FILLING:
        asks["embeddings"] = Embedding.of(opened, name).many
    asks["explain"] = partial(_explain, twin)
    return Application("torch" if quick is None else quick.engine.name, asks, opened.about.labels)


def twin_of(model: "Model") -> "Model":
    """The same model once more with the same weights, not a copy of them.

    An explanation puts other vectors in place of a model's embeddings for a while; whoever asks the model on another
    thread meanwhile must not see them.
    """
    shared = [*model.parameters(), *model.buffers()]
    return deepcopy(model, {id(weight): weight for weight in shared})


def _asks(opened: "ServingFolder | ModelFolder", explained: "ServingFolder | ModelFolder", name: str) -> dict[str, Ask]:
    """An encoder without a task gives vectors, the mean of its tokens; where it can, it fills masks."""
    head = opened.about.head
    if head in FILLING:
        return {"fill": partial(_fill, Filler(the_model(opened), opened.tokenizer))}
    if head is None:
        return {"embeddings": Embedding.of(opened, name).many}
    predictor = Predictor.of(opened, name)
    if isinstance(predictor.task, TextEmbedding):
        return {"embeddings": Embedding.of(opened, name).many}
    kind = predictor.task.kind
    if kind not in ASKS:
        raise InputError(f"{name}, a model for {kind!r}", wanted=f"one for {', '.join(ASKS)}, embed, or to fill masks")
    return {ASKS[kind]: classifying(opened, explained, name) if ASKS[kind] == "classify" else predictor.many}


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


def _explain(opened: "ModelFolder", examples: list[ToExplain]) -> list[Any]:
    """Each text on its own; one whose answer cannot be explained is refused by itself."""
    from unmask.explain.explaining import explain

    answers: list[Any] = []
    for example in examples:
        given = example.text if example.pair is None else (example.text, example.pair)
        try:
            refused = fault_of(example)
            answers.append(refused or explain(opened, given, method=example.method, target=example.target))
        except InputError as error:
            answers.append(Refused(str(error)))
    return answers
