"""What clients do wrong, over real connections to a real server: each gets its answer, and it goes on serving."""

import json
import select
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unmask.serve.client import ServerError
from unmask.serve.models import Models

from .browser import listening
from .fake_apps import FAKES, open_fake
from .running import Running

TEXT = "they had hoped for the quick brown fox"


@pytest.fixture(scope="module")
def running(folders: dict[str, Path]) -> Iterator[Running]:
    server = Running(str(folders["quick"]))
    yield server
    assert server.stop() == 0
    assert not any("Traceback" in line or '"failure"' in line or "hoped" in line for line in server.lines)


@pytest.fixture(autouse=True)
def still_serving(running: Running) -> Iterator[None]:
    yield
    assert running.client.classify(TEXT)["label"]


def post(body: bytes, *headers: str, path: str = "/v1/classify", length: int | None = None) -> bytes:
    said = [f"POST {path} HTTP/1.1", "Host: here", "Connection: close", "Content-Type: application/json", *headers]
    return "\r\n".join([*said, f"Content-Length: {len(body) if length is None else length}", "", ""]).encode() + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def words(answer: bytes) -> str:
    return str(json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"])


BODIES = {
    "invalid JSON": (b'{"text": "a"', 400, "no JSON"),
    "invalid UTF-8": (b'{"text": "\xff\xfe"}', 400, "UTF-8"),
    "a wrong type": (b'{"text": {"deep": [1]}}', 422, "text"),
    "a number": (b'{"text": 5}', 422, "text"),
    "an unknown model": (b'{"text": "a", "model": "nobody"}', 404, "nobody"),
    "10,000 texts": (json.dumps({"text": ["a"] * 10_000}).encode(), 422, "at most 2048"),
    "megabytes of text": (b'{"text": "' + b"word " * 1_000_000 + b'"}', 422, "at most 100000"),
    "more than a body may have": (b'{"text": "' + b"a" * 9_000_000 + b'"}', 413, "8,388,608 bytes"),
}


@pytest.mark.parametrize(("body", "expected", "said"), BODIES.values(), ids=BODIES)
def test_a_wrong_body_gets_its_status_and_words(running: Running, body: bytes, expected: int, said: str) -> None:
    answer = running.ask(post(body))
    assert (status(answer), said in words(answer)) == (expected, True), answer[-300:]


def test_a_body_that_ends_too_early_is_no_failure(running: Running) -> None:
    for cut in (0, 1, 9):
        running.ask(post(b'{"text": "a dog"}'[:cut], length=17), ends=True)


def test_a_connection_that_is_torn_down_in_the_middle_is_no_failure(running: Running) -> None:
    many = json.dumps({"text": [TEXT] * 2000}).encode()
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            connection.sendall(post(many))
            time.sleep(0.02)
            # closing with a reset, as a client does that crashes
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_bodies_in_chunks_of_every_kind_are_read_or_refused(running: Running) -> None:
    head = b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    good = running.ask(head + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"text":\r\n6\r\n "dog"\r\n1\r\n}\r\n0\r\n\r\n')
    assert status(good) == 200
    assert status(running.ask(head + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")) == 400
    assert status(running.ask(head + b"Content-Length: -5\r\n\r\n")) == 400


def test_headers_without_end_are_refused(running: Running) -> None:
    assert status(running.ask(b"GET / HTTP/1.1\r\n" + b"X-Long: " + b"a" * 70_000)) in (400, 431)


def test_a_hundred_clients_of_whom_half_vanish_leave_the_others_their_answers(running: Running) -> None:
    def ask(number: int) -> int:
        body = post(json.dumps({"text": TEXT.split()[number % 8]}).encode())
        if number % 2:
            with socket.create_connection(("127.0.0.1", running.port)) as connection:
                connection.sendall(body[: len(body) // 2])
            return 0
        return status(running.ask(body))

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(ask, range(100))) == {0, 200}


def test_a_client_that_sends_a_byte_at_a_time_is_told_when_its_time_is_up(folders: dict[str, Path]) -> None:
    with listening(Models({"quick": folders["quick"]}), body_seconds=0.3) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(post(b"", length=1000))
            while not select.select([connection], [], [], 0.05)[0]:  # until it has an answer
                connection.sendall(b" ")
            assert status(connection.recv(4096)) == 408


def test_a_client_that_never_reads_its_answer_holds_up_nobody(folders: dict[str, Path]) -> None:
    models = Models(folders | {name: Path(name) for name in FAKES}, open=open_fake)
    with listening(models) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        body = json.dumps({"input": [TEXT] * 500, "model": "vectors"}).encode()
        deaf = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for connection in deaf:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(post(body, path="/v1/embeddings"))
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(post(b'{"text": "a dog", "model": "quick"}'))
            assert status(connection.recv(4096)) == 200
        for connection in deaf:
            connection.close()


def test_conversations_outlive_a_killed_server(tmp_path: Path) -> None:
    command = [str(Path(__file__).with_name("chat_server.py")), str(tmp_path / "talks.sqlite")]
    server = Running(command=command)
    id = server.client.chat("Hello!")["conversation"]
    server.client.chat("你好！", conversation=id)
    before = server.client.turns(id)
    server.kill()
    server = Running(command=command)
    assert server.client.turns(id) == before
    assert [turn["text"] for turn in before if turn["speaker"] == "user"] == ["Hello!", "你好！"]
    assert server.client.chat("Bye.", conversation=id)["answer"].startswith("4 turns before")
    server.client.forget(id)
    with pytest.raises(ServerError, match="no conversation"):
        server.client.turns(id)
    assert server.stop() == 0
