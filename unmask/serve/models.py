"""The models that a server has, by name: folders in, each with its queues out; a replaced folder is noticed.

A model has a queue for answers, and one beside it for explanations, which take long: nobody else waits for them.

A new model is opened beside the old one and takes its place in one moment; what the old one had accepted it still
answers, and then it is let go. A folder that cannot be opened changes nothing. A chat knows the FAQs and documents that
are served beside it, also when they or it are replaced.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmask.errors import InputError
from unmask.model.checksums import CHECKSUMS
from unmask.model.named import EMBEDDED, NAMED, find_model, name_of
from unmask.serve.app_folders import acquaint
from unmask.serve.application import BUILTIN_CHAT, open_application
from unmask.serve.batcher import LIMIT, PATIENCE, Batcher, ModelThread
from unmask.serve.questions import Application, Question

Identity = tuple[tuple[str, int, int, int], ...]  # of a folder's files: name, inode, size, time of change
Open = Callable[[Path], Application]
Told = Callable[..., None]  # an event and its fields

EVERY = 1.0  # seconds between looks at the folders
CHAT = "default:chat"  # the name of the chat that came with the installation
CARD = "README.md"  # for people: a model is the same whatever its card says


class UnknownModel(InputError):
    """No model of that name is served."""


@dataclass(frozen=True)
class Served:
    """A model that answers."""

    name: str
    folder: Path
    identity: Identity
    application: Application
    batcher: Batcher
    aside: Batcher  # for what takes long: the others are answered meanwhile
    threads: tuple[ModelThread, ...]  # of either
    since: float = field(default_factory=time.time)  # when it was opened

    @property
    def asks(self) -> tuple[str, ...]:
        """What can be asked of it."""
        return tuple(self.application.asks)

    @property
    def waiting(self) -> int:
        """What waits for it, by weight."""
        return self.batcher.waiting + self.aside.waiting

    async def submit(self, questions: Sequence[Question], *, timeout: float, lengthy: bool = False) -> list[Any]:
        """The outcome of each question."""
        return await (self.aside if lengthy else self.batcher).submit(questions, timeout=timeout)

    async def close(self) -> None:
        """Answers what was accepted, then lets the threads go."""
        await asyncio.gather(self.batcher.drain(), self.aside.drain())
        for thread in self.threads:
            thread.close()


class Models:
    """All models of a server. `open` first, then `watch` for as long as the server runs, `close` at its end."""

    def __init__(
        self,
        folders: Mapping[str, Path],
        *,
        open: Open = open_application,
        limit: int = LIMIT,
        patience: float = PATIENCE,
        tell: Told = lambda *_, **__: None,
        batch_done: Callable[[str, int, float], None] = lambda *_: None,
    ) -> None:
        self.folders, self._open, self._tell, self._batch_done = dict(folders), open, tell, batch_done
        self._options: dict[str, Any] = {"limit": limit, "patience": patience}
        self._served: dict[str, Served] = {}
        self._refused: dict[str, Identity] = {}  # what could not be opened, so that it is told once
        self._leaving: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Opens every folder; the first that cannot be is an error."""
        for name, folder in self.folders.items():
            self._served[name] = self._opened(name, folder)
        acquaint(served.application for served in self)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def find(self, name: str | None, ask: str) -> Served:
        """The model of a name, if it can be asked this; without a name the first that can.

        Ask it at once: whoever awaits anything before may find that it has been replaced and takes no more requests.
        """
        able = [served for served in self if ask in served.asks]
        if name is None:
            if not able:
                raise UnknownModel(f"no model for {ask!r}", wanted=f"a server with one; this one has {self._names()}")
            return able[0]
        if name not in self._served:
            raise UnknownModel(f"model {name!r}", wanted=self._names() or "no name")
        if self._served[name] not in able:
            others = ", ".join(served.name for served in able) or "none here"
            raise InputError(f"{ask!r} of the model {name!r}", wanted=f"a model for that: {others}")
        return self._served[name]

    async def watch(self, *, every: float = EVERY) -> None:
        """Looks at the folders again and again, and takes up what has been replaced."""
        seen: dict[str, Identity] = {}
        while True:
            await asyncio.sleep(every)
            for name, served in list(self._served.items()):
                found = await asyncio.to_thread(identity_of, served.folder)
                # Only what was the same at two looks is whole: files may still be arriving.
                if found not in (served.identity, self._refused.get(name)) and seen.get(name) == found:
                    await self._reload(served, found)
                seen[name] = found

    async def close(self) -> None:
        """Answers what was accepted by all models, also by those that were replaced."""
        await asyncio.gather(*(served.close() for served in self), *self._leaving)

    async def _reload(self, old: Served, found: Identity) -> None:
        try:
            new = await asyncio.to_thread(self._opened, old.name, old.folder)
        except Exception as error:  # whatever lies there now, the old model goes on
            self._refused[old.name] = found
            words = str(error) if isinstance(error, InputError) else type(error).__name__
            self._tell("reload refused", model=old.name, error=words)
            return
        self._served[old.name] = new
        acquaint(served.application for served in self)
        self._refused.pop(old.name, None)
        self._tell("reloaded", model=old.name, engine=new.application.engine)
        leaving = asyncio.create_task(old.close())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    def _opened(self, name: str, folder: Path) -> Served:
        identity = identity_of(folder)  # before opening: what changes meanwhile is seen at the next look
        application = self._open(folder)
        threads = ModelThread(name, application), ModelThread(f"{name} aside", application)

        def watch(examples: int, seconds: float) -> None:
            self._batch_done(name, examples, seconds)

        def queue(thread: ModelThread) -> Batcher:
            return Batcher(thread, weigh=lambda question: question.weight, watch=watch, **self._options)

        batcher, aside = map(queue, threads)
        return Served(name, folder, identity, application, batcher, aside, threads)

    def _names(self) -> str:
        return ", ".join(self._served)


def identity_of(folder: Path) -> Identity:
    """What tells a replaced folder from the one that was there.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> before = identity_of(folder)
    >>> _ = (folder / "unmask.json").write_text("{}")
    >>> identity_of(folder) == before
    False
    """
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            status = path.stat()
        except FileNotFoundError:  # gone between two looks
            continue
        if path.is_file() and path.name != CARD:
            found.append((path.relative_to(folder).as_posix(), status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


def folders_of(given: Sequence[str]) -> dict[str, Path]:
    """Folders, named models, or either with a name of one's own (`NAME=DIR`), by the name that requests use.

    >>> folders_of(["models/reviews", "mine=models/other"])
    {'reviews': PosixPath('models/reviews'), 'mine': PosixPath('models/other')}
    """
    found: dict[str, Path] = {}
    for text in given or embedded_names():
        name, equals, place = text.partition("=")
        if not equals or Path(text).exists():
            name, place = ("", text)
        folder = BUILTIN_CHAT if place == CHAT else find_model(place)
        name = name or (place if place in (CHAT, *NAMED) else name_of(folder))
        if name in found:
            raise InputError(f"two models named {name!r}", wanted="a name for each", do=f"write OTHER={place}")
        found[name] = folder
    if not found:
        raise InputError("no model", wanted="at least one model folder", do="name one: unmask serve DIR")
    return found


def embedded_names() -> list[str]:
    """The models that came with the installation."""
    default = [name for name in NAMED if name.startswith("default")]
    models = [name for name in default if (EMBEDDED / name.removeprefix("default:") / CHECKSUMS).is_file()]
    return [*models, CHAT] if models and BUILTIN_CHAT.is_dir() else models
