"""The gate before every request: who may come in, how much they may bring and how long that may take; and the log.

An ASGI application in, one around it out. A body is read to its end here, so that nothing behind the gate ever waits
for a slow client, and whoever goes away before the answer has their work taken back. The log has no word of any text.
"""

import asyncio
import hashlib
import hmac
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmask.serve.faults import Trouble, trouble_of
from unmask.serve.figures import Figures

Log = Callable[..., None]  # an event's fields

LARGEST_BODY = 8_388_608  # bytes
BODY_SECONDS = 20.0  # in which a body must have arrived
HELD = 134_217_728  # bytes that all requests together may take
PER_REQUEST = 65_536  # bytes that a request takes beside its body
THROWN_AWAY = 67_108_864  # bytes of a too large body that are read before it is refused, so that clients see the answer
GUARDED = ("/v1/", "/metrics")  # what needs a token, where there is one
GONE = 499  # in the log: the client went away before the answer


@dataclass(frozen=True)
class Rules:
    """What the gate lets through."""

    token: str | None = None
    largest_body: int = LARGEST_BODY
    body_seconds: float = BODY_SECONDS
    held: int = HELD  # bytes of all requests that are open


class _Refused(Exception):
    def __init__(self, trouble: Trouble) -> None:
        self.trouble = trouble


class _Gone(Exception):
    pass


class Gate:
    """The outermost part of the server."""

    def __init__(self, app: ASGIApp, *, rules: Rules, figures: Figures, log: Log) -> None:
        self.app, self.rules, self.figures, self.log = app, rules, figures, log
        self.free = rules.held  # bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.monotonic()
        scope["state"] = told = scope.get("state", {})
        answer = _Answer(send)
        held = _Held(self)
        self.figures.open.inc()
        try:
            await self._let_in(scope, receive, answer, held)
        except _Gone:
            answer.status = GONE
        except Exception as error:
            refused = isinstance(error, _Refused)
            trouble = error.trouble if isinstance(error, _Refused) else trouble_of(error)
            if not refused:
                self.log("failure", error=type(error).__name__, at=_place(error))
            if not answer.status:
                await _response(trouble)(scope, receive, answer)
        finally:
            held.give_back()
            self.figures.open.dec()
            self._note(scope, told, answer.status or GONE, time.monotonic() - started)

    async def _let_in(self, scope: Scope, receive: Receive, answer: "_Answer", held: "_Held") -> None:
        held.take(PER_REQUEST)
        headers = {name.lower(): value for name, value in scope["headers"]}
        if self.rules.token is not None and scope["path"].startswith(GUARDED) and scope["method"] != "OPTIONS":
            check_token(headers.get(b"authorization", b""), self.rules.token)
        body = await self._body(headers, receive, held)
        await _unless_gone(self.app, scope, body, receive, answer)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, held: "_Held") -> bytes:
        """The whole body; one that is too large or too slow is refused."""
        try:
            async with asyncio.timeout(self.rules.body_seconds):
                return await _read(receive, self.rules.largest_body, headers.get(b"content-length", b""), held)
        except TimeoutError:
            words = f"the body did not arrive within {self.rules.body_seconds:g} s"
            raise _Refused(Trouble(408, words, headers={"Connection": "close"})) from None

    def _note(self, scope: Scope, told: dict[str, Any], status: int, seconds: float) -> None:
        # The path as the application knows it: what a client wrote there may be text of theirs.
        path = getattr(scope.get("route"), "path", "-")
        self.figures.answered(path, status, seconds, told.get("count", 0))
        fields = {name: told[name] for name in ("model", "count") if name in told}
        self.log("request", method=_method(scope), path=path, status=status, ms=round(1000 * seconds, 1), **fields)


class _Held:
    """What one request takes of the memory that all requests share."""

    def __init__(self, shared: Gate) -> None:
        self._shared, self._taken = shared, 0

    def take(self, count: int) -> None:
        """Some more bytes, if there are any left."""
        self._shared.free -= count
        self._taken += count
        if self._shared.free < 0:
            words = "too much is being asked at once; try again in a moment"
            raise _Refused(Trouble(429, words, code="busy", headers={"Retry-After": "1", "Connection": "close"}))

    def give_back(self) -> None:
        """All of it, when the request is done."""
        self._shared.free += self._taken
        self._taken = 0


class _Answer:
    """Sends, and remembers with which status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self.send(message)


def check_token(authorization: bytes, token: str) -> None:
    """Refuses whoever does not know the token; how long that takes says nothing about it."""
    scheme, _, given = authorization.partition(b" ")
    # Digests are of one length: not even that of the token shows.
    same = hmac.compare_digest(_digest(given.strip()), _digest(token.encode()))
    if scheme.lower() != b"bearer" or not same:
        words = "the token is missing or wrong; send it as the header 'Authorization: Bearer TOKEN'"
        raise _Refused(Trouble(401, words, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"}))


def write_log(event: str, **fields: Any) -> None:
    """One line of JSON on stderr."""
    now = time.time()
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
    print(json.dumps({"time": stamp, "event": event, **fields}, ensure_ascii=False), file=sys.stderr, flush=True)


async def _read(receive: Receive, largest: int, declared: bytes, held: "_Held") -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    if declared.isdigit() and int(declared) > THROWN_AWAY:
        raise _Refused(_too_large(largest))
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(part)
        if size <= largest:
            held.take(len(part))
            parts.append(part)
        else:
            parts.clear()
        if size > THROWN_AWAY:
            break
    if size > largest:
        raise _Refused(_too_large(largest))
    return b"".join(parts)


async def _unless_gone(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, answer: _Answer) -> None:
    """Runs the application on a body that is here, and stops it when the client goes away before the answer."""
    gone = asyncio.create_task(_wait_until_gone(receive))
    given = False

    async def replay() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.wait([gone])
        return {"type": "http.disconnect"}

    work = asyncio.ensure_future(app(scope, replay, answer))
    try:
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
            raise _Gone
        work.result()
    finally:
        gone.cancel()
        work.cancel()


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(largest: int) -> Trouble:
    words = f"the body has more than {largest:,} bytes; send less at once"
    return Trouble(413, words, code="too_large", headers={"Connection": "close"})


def _response(trouble: Trouble) -> JSONResponse:
    return JSONResponse(trouble.to_dict(), trouble.status, dict(trouble.headers))


def _digest(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "-"


def _place(error: Exception) -> str:
    """Where it happened: the last line of the traceback, without the message, which may hold a user's text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "-"
    return f"{trace.tb_frame.f_globals.get('__name__', '-')}:{trace.tb_lineno}"
