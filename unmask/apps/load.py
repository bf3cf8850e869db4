"""The application that a folder describes: a folder or a model's name in, something to call with text out."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from unmask.apps.app_folder import read_app
from unmask.apps.predict import Predictor, open_any, the_model
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

Opened: TypeAlias = "ServingFolder | ModelFolder"
App = Callable[..., Any]  # which of them it is, only the folder knows


def load(name: Path | str, *, device: str = "cpu", threads: int | None = None) -> App:
    """Opens a model's folder and gives the application for its head, or the folder of an application itself.

    A serving folder answers without torch, on `threads` cores; all if not given.

    >>> import tempfile
    >>> from unmask.model.about import About
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.folder import save_model
    >>> from unmask.text.tokenizer import Tokenizer
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=6)
    >>> folder = Path(tempfile.mkdtemp()) / "encoder"
    >>> save_model(folder, config, Bert(config), Tokenizer([*SPECIAL_PIECES, "word"]), About())
    >>> load(folder)("word").vectors.shape
    (1, 128)
    """
    app = read_app(name)
    if app is not None:
        return _open_app(Path(name), app["app"], device=device, threads=threads)
    opened = open_any(name, device=device, threads=threads)
    make = APPS.get(opened.about.head)
    return Predictor.of(opened, str(name)) if make is None else make(opened)


def _open_app(folder: Path, kind: str, *, device: str, threads: int | None) -> App:
    """Each kind is imported only where it is wanted."""
    if kind == "documents":
        from unmask.apps.documents import open_documents

        return open_documents(folder, device=device, threads=threads)
    if kind == "faq":
        from unmask.apps.faq import open_faq

        return open_faq(folder, device=device, threads=threads)
    if kind == "chat":
        from unmask.apps.chat import open_chat

        return open_chat(folder, device=device, threads=threads)
    if kind == "search":
        from unmask.apps.search import open_search

        return open_search(folder, device=device, threads=threads)
    wanted = "documents, faq, chat or search"
    raise InputError(f"{folder}, a folder of the application {kind!r}", wanted=wanted, do="update unmask")


def _filler(opened: Opened) -> App:
    from unmask.apps.fill import Filler

    return Filler(the_model(opened), opened.tokenizer)


def _following(opened: Opened) -> App:
    from unmask.apps.following import Following

    return Following(the_model(opened), opened.tokenizer)


def _features(opened: Opened) -> App:
    from unmask.apps.features import Features

    return Features(the_model(opened), opened.tokenizer)


def _vectors(opened: Opened) -> App:
    from unmask.apps.vectors import TextEncoder

    return TextEncoder(opened)


def _entities(opened: Opened) -> App:
    from unmask.apps.tag import EntityFinder

    return EntityFinder(the_model(opened), opened.tokenizer, opened.about)


def _answers(opened: Opened) -> App:
    from unmask.apps.answer import AnswerFinder

    return AnswerFinder(the_model(opened), opened.tokenizer, opened.about)


APPS: dict[str | None, Callable[[Opened], App]] = {  # what has more to say than a predictor
    "pretraining": _filler,
    "masked_words": _filler,
    "next_sentence": _following,
    "tokens": _entities,
    "tags_crf": _entities,
    "span": _answers,
    "embedding": _vectors,
    None: _features,
}
