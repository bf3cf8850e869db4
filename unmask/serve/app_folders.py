"""What can be asked of an application's folder: documents, frequent questions or a chat in, ask and function out."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from unmask.apps.load import load
from unmask.errors import InputError
from unmask.serve.questions import Application, ToAsk, ToSay


def of_app(folder: Path, kind: str, *, threads: int | None = None) -> Application:
    """Opens the application that lies in a folder.

    >>> of_app(Path("mine"), "poetry")
    Traceback (most recent call last):
    unmask.errors.InputError: got mine, a folder of the application 'poetry'; wanted one of documents, faq, chat
    """
    if kind not in ASKS:
        raise InputError(f"{folder}, a folder of the application {kind!r}", wanted=f"one of {', '.join(ASKS)}")
    opened = load(folder, threads=threads)
    return Application(kind, {kind: partial(ASKS[kind], opened)}, opened=opened)


def of_builtin_chat() -> Application:
    """The chat that came with the installation."""
    from unmask.apps.builtin_chat import builtin_chat

    opened = builtin_chat()
    return Application("chat", {"chat": partial(_reply, opened)}, opened=opened)


def acquaint(applications: Iterable[Application]) -> None:
    """Puts all FAQs and documents of those served behind every chat among them."""
    real = [application for application in applications if application.opened is not None]
    faqs, documents = (tuple(one.opened for one in real if kind in one.asks) for kind in ("faq", "documents"))
    for chat in (one.opened for one in real if "chat" in one.asks):
        chat.faqs, chat.documents = faqs, documents


def _answer(opened: Any, examples: list[ToAsk]) -> list[Any]:
    """An application that is asked questions."""
    answers: list[Any] = opened.many([example.question for example in examples])
    return answers


def _reply(opened: Any, examples: list[ToSay]) -> list[Any]:
    """An application that is told something in a conversation."""
    from unmask.apps.chat import Utterance

    replies: list[Any] = opened.many([Utterance(example.text, example.history) for example in examples])
    return replies


ASKS: dict[str, Callable[[Any, list[Any]], list[Any]]] = {"documents": _answer, "faq": _answer, "chat": _reply}
