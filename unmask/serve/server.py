"""The HTTP server: models and settings in, a FastAPI application out; `serve` runs it until it is told to stop.

Told to stop, it takes no more connections, finishes what it has accepted, and ends.
"""

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from unmask import __version__
from unmask.apps.conversations import KEEP, Conversations
from unmask.errors import InputError
from unmask.serve import replies
from unmask.serve.api import REQUESTS, model_list
from unmask.serve.asked import Asked
from unmask.serve.batcher import Closed, DeadlinePassed, QueueFull
from unmask.serve.conversing import Chat, Talks, add_conversations
from unmask.serve.description import NO_SCRIPT, description_page
from unmask.serve.faults import Trouble, invalid, trouble_of
from unmask.serve.figures import Figures
from unmask.serve.gate import BODY_SECONDS, LARGEST_BODY, Gate, Log, Rules, write_log
from unmask.serve.models import EVERY, Models, UnknownModel
from unmask.serve.page_files import GUARDS, page_response

Responses = dict[int | str, dict[str, Any]]

TIMEOUT = 30.0  # seconds in which a request must be answered
LAST_SECONDS = 60  # in which accepted work is finished when the server stops


@dataclass(frozen=True)
class Settings:
    """How a server behaves."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0: any that is free
    token: str | None = None  # that clients must know; required where others than this machine can connect
    origins: tuple[str, ...] = ()  # pages of other sites that may ask, by CORS; none
    timeout: float = TIMEOUT
    body_seconds: float = BODY_SECONDS
    largest_body: int = LARGEST_BODY
    look_every: float = EVERY  # seconds between looks for replaced folders
    conversations: Path | str = ":memory:"  # the file that keeps them
    keep: float = KEEP  # seconds after which a conversation expires
    log: Log = field(default=write_log, repr=False)


def make_app(models: Models, settings: Settings = Settings(), *, figures: Figures | None = None) -> FastAPI:  # noqa: B008
    """The application: every endpoint, behind its gate."""
    figures = figures or Figures()
    figures.watch_queues(lambda: [(served.name, served.waiting) for served in models])
    state = {"ready": False}
    talks = Talks(Conversations(settings.conversations, settings.keep))

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        chores = [asyncio.create_task(models.watch(every=settings.look_every)), asyncio.create_task(talks.expire())]
        state["ready"] = True
        yield
        state["ready"] = False
        for chore in chores:
            chore.cancel()
        await models.close()
        talks.kept.close()

    app = FastAPI(
        title="unmask", version=__version__, description=DESCRIPTION, lifespan=life, docs_url=None, redoc_url=None
    )
    _add_asks(app, models, talks, settings.timeout)
    add_conversations(app, talks)
    _add_listing(app, models)
    _add_health(app, state, figures)
    _add_pages(app)
    _answer_in_words(app)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
        )
    rules = Rules(settings.token, settings.largest_body, settings.body_seconds)
    app.add_middleware(Gate, rules=rules, figures=figures, log=settings.log)
    return app


def serve(models: Models, settings: Settings, figures: Figures, *, listening: Callable[[str], None]) -> None:
    """Listens until SIGTERM or SIGINT; `listening` is told the address once requests are taken."""
    check_exposure(settings.host, settings.token)
    place = _bind(settings.host, settings.port)
    config = uvicorn.Config(
        make_app(models, settings, figures=figures),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=65_536,
    )
    _Server(config, lambda: listening(_address(place))).run(sockets=[place])


def check_exposure(host: str, token: str | None) -> None:
    """Refuses to listen beyond this machine without a token.

    >>> check_exposure("127.0.0.1", None)
    """
    if token is not None and not token.strip():
        raise InputError("an empty token", wanted="one that nobody can guess", do="make one: openssl rand -hex 32")
    if token is None and not is_loopback(host):
        raise InputError(
            f"host {host!r} without a token",
            wanted="a token wherever others than this machine can connect",
            do="give one with --token, or listen on 127.0.0.1",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """uvicorn, which says when it listens, and for which being told to stop is no failure."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's own, but the signal is not raised again at the end: the work is done, the status is 0."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _add_asks(app: FastAPI, models: Models, talks: Talks, timeout: float) -> None:
    async def ask(request: Request, body: Asked) -> Response:
        questions = body.questions()
        served = models.find(body.model, body.wanted)
        request.scope["state"].update(model=served.name, count=len(questions))
        outcomes = await served.submit(questions, timeout=timeout, lengthy=body.lengthy)
        return JSONResponse(body.told(served.name, outcomes))

    async def say(request: Request, body: Chat) -> Response:
        return JSONResponse(await talks.say(body, models, request, timeout))

    for kind in REQUESTS:
        _add_ask(app, kind, ask)
    _add_ask(app, Chat, say)


def _add_ask(app: FastAPI, kind: type[Asked], ask: Callable[..., Awaitable[Response]]) -> None:
    """An endpoint whose body is one kind of request, with its examples and the shape of its answer."""
    examples: Any = {name: {"summary": name, "value": value} for name, value in kind.examples.items()}

    async def endpoint(request: Request, body: Asked) -> Response:
        return await ask(request, body)

    endpoint.__annotations__["body"] = Annotated[kind, Body(openapi_examples=examples)]
    endpoint.__name__ = kind.ask
    route = app.post(
        kind.path, summary=kind.summary, response_model=kind.reply, responses=replies.FAULTS, tags=["asks"]
    )
    route(endpoint)


def _add_listing(app: FastAPI, models: Models) -> None:
    faults: Responses = {status: replies.FAULTS[status] for status in (401, 404)}

    @app.get("/v1/models", summary="The models of this server", response_model=replies.Models, responses=faults)
    async def list_models() -> Response:
        return JSONResponse(model_list(models))

    @app.get("/v1/models/{name}", summary="One model", response_model=replies.Model, responses=faults)
    async def one_model(name: str) -> Response:
        found = [told for told in model_list(models)["data"] if told["id"] == name]
        if not found:
            raise UnknownModel(f"model {name!r}", wanted=", ".join(served.name for served in models))
        return JSONResponse(found[0])


def _add_health(app: FastAPI, state: dict[str, bool], figures: Figures) -> None:
    @app.get("/healthz", summary="Does the server live?", response_model=replies.Health)
    async def healthz() -> Response:
        return JSONResponse({"status": "ok"})

    stopping: Responses = {503: {"model": replies.Health, "description": "Starting or stopping."}}

    @app.get("/readyz", summary="Does it take requests?", response_model=replies.Health, responses=stopping)
    async def readyz() -> Response:
        return JSONResponse(
            {"status": "ready"} if state["ready"] else {"status": "not ready"}, 200 if state["ready"] else 503
        )

    @app.get("/metrics", summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(figures.text(), media_type=CONTENT_TYPE_LATEST)


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return page_response("index.html", request)

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon(request: Request) -> Response:
        return page_response("icon.svg", request)

    @app.get("/page/{name}", include_in_schema=False)
    async def page_file(name: str, request: Request) -> Response:
        return page_response(name, request)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(description_page(app.openapi()), headers=GUARDS | {"Content-Security-Policy": NO_SCRIPT})


def _answer_in_words(app: FastAPI) -> None:
    """Every error that is foreseen gets its status and its words; what is not, the gate sees to."""

    async def foreseen(_: Request, error: Exception) -> Response:
        return _response(trouble_of(error))

    async def wrong_body(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _response(invalid(error.errors()))

    async def wrong_request(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        words = "the body is no JSON in UTF-8" if error.status_code == 400 else str(error.detail)
        return _response(Trouble(error.status_code, words, headers=error.headers or {}))

    for kind in (InputError, QueueFull, DeadlinePassed, Closed):
        app.add_exception_handler(kind, foreseen)
    app.add_exception_handler(RequestValidationError, wrong_body)
    app.add_exception_handler(HTTPException, wrong_request)


def _response(trouble: Trouble) -> JSONResponse:
    return JSONResponse(trouble.to_dict(), trouble.status, dict(trouble.headers))


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # named TCP, or asyncio leaves Nagle's waiting on: 40 ms for every request of a connection that is kept
        place = socket.socket(family, kind, socket.IPPROTO_TCP)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(address)
    except OSError as error:
        raise InputError(
            f"{host} port {port}, where this process cannot listen ({error.strerror})",
            wanted="an address of this machine and a free port",
            do="choose another with --port; 0 takes any that is free",
        ) from None
    return place


def _address(place: socket.socket) -> str:
    host, port = place.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


DESCRIPTION = """BERT models over HTTP. Places in texts are counted in characters of the text as it was sent.

A request for one text gets one answer; a request for a list gets `{"answers": […]}`, in the list's order. What cannot
be answered gets `{"error": {"message": …}}`. `/v1/embeddings` and `/v1/models` answer OpenAI's clients."""
