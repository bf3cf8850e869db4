"""The gate, in made time and with made clients: tokens, sizes, slow and vanished clients, faults, a discreet log."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from unmask.serve.batcher import Closed, DeadlinePassed, QueueFull
from unmask.serve.faults import trouble_of
from unmask.serve.figures import Figures
from unmask.serve.gate import PER_REQUEST, Gate, Rules

from .made_clock import run

SECRET = "the user's own words"


class Visit:
    """One request through a gate: pieces of a body, each after a while, then silence or leaving."""

    def __init__(self, app: Any, rules: Rules = Rules(), **scope: Any) -> None:  # noqa: B008
        self.lines: list[dict[str, Any]] = []
        self.sent: list[Message] = []
        self.figures = Figures()
        self.gate = Gate(app, rules=rules, figures=self.figures, log=self._log)
        self.scope = {"type": "http", "method": "POST", "path": "/v1/fill", "headers": [], **scope}

    def __call__(self, *pieces: tuple[float, bytes], leaves: float | None = None) -> "Visit":
        run(self._go(pieces, leaves))
        return self

    @property
    def status(self) -> int:
        return next((message["status"] for message in self.sent if "status" in message), 0)

    @property
    def words(self) -> str:
        body = b"".join(message.get("body", b"") for message in self.sent)
        return str(json.loads(body)["error"]["message"])

    async def _go(self, pieces: tuple[tuple[float, bytes], ...], leaves: float | None) -> None:
        left = list(pieces)

        async def receive() -> Message:
            if left:
                seconds, body = left.pop(0)
                await asyncio.sleep(seconds)
                return {"type": "http.request", "body": body, "more_body": bool(left) or not body}
            await asyncio.sleep(1e6 if leaves is None else leaves)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            self.sent.append(message)

        await self.gate(self.scope, receive, send)

    def _log(self, event: str, **fields: Any) -> None:
        self.lines.append({"event": event, **fields})


async def echo(_: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def failing(error: Exception) -> Callable[..., Any]:
    async def app(*_: Any) -> None:
        raise error

    return app


def test_a_body_in_pieces_arrives_whole() -> None:
    visit = Visit(echo)((1, b"ab"), (1, b"cd"), (1, b"e"))
    assert (visit.status, visit.sent[-1]["body"]) == (200, b"abcde")


def test_a_body_that_comes_too_slowly_is_refused() -> None:
    visit = Visit(echo, Rules(body_seconds=5))((1, b"ab"), (9, b"cd"))
    assert (visit.status, "within 5 s" in visit.words) == (408, True)


def test_a_body_that_is_too_large_is_read_away_and_refused() -> None:
    visit = Visit(echo, Rules(largest_body=10))((0, b"a" * 9), (0, b"b" * 9), (0, b"c"))
    assert (visit.status, "10 bytes" in visit.words) == (413, True)


def test_a_body_that_says_it_is_enormous_is_refused_before_it_comes() -> None:
    visit = Visit(echo, headers=[(b"content-length", b"99999999999")])((1e9, b"a"))
    assert visit.status == 413


def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_failure() -> None:
    visit = Visit(echo)((1, b"ab"), (1, b""), leaves=1)
    assert (visit.sent, visit.lines[-1]["status"]) == ([], 499)


def test_the_work_of_a_client_that_leaves_is_stopped() -> None:
    ends: list[str] = []

    async def slow(*_: Any) -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            ends.append("stopped")
            raise

    visit = Visit(slow)((0, b"ab"), leaves=3)
    assert (ends, visit.sent, visit.lines[-1]["status"]) == (["stopped"], [], 499)


def test_all_requests_together_take_no_more_memory_than_allowed_and_give_it_back() -> None:
    visit = Visit(echo, Rules(held=PER_REQUEST + 10))((0, b"a" * 6), (0, b"b" * 6))
    assert (visit.status, "at once" in visit.words) == (429, True)
    assert visit.gate.free == PER_REQUEST + 10


TOKENS = {
    "right": (b"Bearer hunter2", 200),
    "in small letters": (b"bearer hunter2", 200),
    "wrong": (b"Bearer hunter3", 401),
    "longer": (b"Bearer hunter22", 401),
    "of another kind": (b"Basic hunter2", 401),
    "missing": (b"", 401),
    "not text": (b"Bearer \xff\xfe", 401),
}


@pytest.mark.parametrize(("given", "status"), TOKENS.values(), ids=TOKENS)
def test_a_token_opens_and_nothing_else_does(given: bytes, status: int) -> None:
    visit = Visit(echo, Rules(token="hunter2"), headers=[(b"authorization", given)])((0, b"a"))
    assert visit.status == status
    assert "hunter" not in json.dumps(visit.lines)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/"])
def test_health_and_page_need_no_token(path: str) -> None:
    assert Visit(echo, Rules(token="hunter2"), path=path)((0, b"a")).status == 200


def test_figures_need_the_token() -> None:
    assert Visit(echo, Rules(token="hunter2"), path="/metrics")((0, b"a")).status == 401


def test_an_unforeseen_error_is_told_in_words_without_its_own() -> None:
    visit = Visit(failing(ValueError(SECRET)))((0, SECRET.encode()))
    assert (visit.status, SECRET in visit.words) == (500, False)
    assert visit.lines[0]["event"] == "failure"
    assert visit.lines[0]["at"].startswith(f"{__name__}:")


def test_the_log_has_no_word_of_a_text_or_path() -> None:
    visit = Visit(echo, path=f"/v1/{SECRET}", query_string=SECRET.encode(), method="SECRET")((0, SECRET.encode()))
    assert visit.lines == [{"event": "request", "method": "-", "path": "-", "status": 200, "ms": visit.lines[0]["ms"]}]
    assert SECRET.encode() not in visit.figures.text()


@pytest.mark.parametrize(
    ("error", "status"), [(QueueFull(3), 429), (DeadlinePassed("late"), 504), (Closed("closed"), 503)]
)
def test_every_foreseen_error_has_its_status(error: Exception, status: int) -> None:
    assert trouble_of(error).status == status
