"""The server as others meet it: too much at once, stopping, a replaced folder, half a request, OpenAI's client."""

import asyncio
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest

import unmask
from unmask.errors import InputError
from unmask.serve.client import ServerError
from unmask.serve.models import Models
from unmask.serve.questions import Application
from unmask.serve.server import Settings, _bind, check_exposure, make_app
from unmask.tasks.classification import Classified

from .running import Running

TEXT = "they had hoped for the quick brown fox"


@pytest.fixture(scope="module")
def running(folders: dict[str, Path]) -> Iterator[Running]:
    server = Running(str(folders["quick"]), str(folders["vectors"]))
    yield server
    if server.process.poll() is None:
        server.stop()


def test_it_says_where_it_listens_with_which_models_and_engines(running: Running) -> None:
    assert running.said["address"].startswith("http://127.0.0.1:")
    assert running.said["models"] == [
        {"name": "quick", "asks": ["classify"], "engine": "onnxruntime"},
        {"name": "vectors", "asks": ["embeddings", "explain"], "engine": "onnxruntime"},
    ]


def test_the_client_asks_in_two_lines(running: Running) -> None:
    client = unmask.Client(running.said["address"])
    answer = client.classify(TEXT)
    assert answer["label"] in answer["probabilities"]
    assert client.classify([TEXT, TEXT])[0]["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-5)
    assert len(client.embed(TEXT)) == 32
    assert [model["id"] for model in client.models()] == ["quick", "vectors"]
    with pytest.raises(ServerError, match=r"NUL.*status 422"):
        client.classify("a\0b")
    with pytest.raises(ServerError, match="no model for 'fill'"):
        client.fill("[MASK]")


def test_openais_client_embeds_and_lists_unchanged(running: Running) -> None:
    with openai.OpenAI(base_url=f"{running.said['address']}/v1", api_key="any", max_retries=0) as client:
        written = client.embeddings.create(model="vectors", input=[TEXT, "a dog"])  # base64 on the wire
        plain = client.embeddings.create(model="vectors", input=TEXT, encoding_format="float")
        np.testing.assert_allclose(written.data[0].embedding, plain.data[0].embedding, atol=1e-5)
        assert written.usage.prompt_tokens == 14
        assert [model.id for model in client.models.list()] == ["quick", "vectors"]
        assert client.models.retrieve("vectors").owned_by == "unmask"
        with pytest.raises(openai.NotFoundError, match="text-embedding-3-small"):
            client.embeddings.create(model="text-embedding-3-small", input=TEXT)


def test_many_clients_at_once_each_get_their_own_answers(running: Running) -> None:
    texts = [" ".join(TEXT.split()[: 1 + n % 8]) for n in range(64)]
    expected = [answer["probabilities"] for answer in running.client.classify(texts)]
    with ThreadPoolExecutor(16) as pool:
        found = [*pool.map(running.client.classify, texts)]
    for one, other in zip(found, expected, strict=True):
        assert one["probabilities"] == pytest.approx(other, abs=1e-4)


def test_half_sent_bodies_and_vanished_clients_leave_it_serving(running: Running) -> None:
    head = b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    slow = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(20)]
    for number, connection in enumerate(slow):
        connection.sendall((head + b'{"text": "half')[: 30 + 10 * number])
    assert running.client.classify(TEXT)
    for connection in slow:
        connection.close()
    assert running.client.classify(TEXT)
    assert running.process.poll() is None


def test_bytes_that_are_no_http_get_a_status(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(b"\x16\x03\x01 not http\r\n\r\n")
        assert b"400" in connection.recv(1000)


def _accepted(server: Running) -> float:
    """Requests for classes that were answered or are open; the one that asks for the figures is open too."""
    answered = server.figure('unmask_requests_total{path="/v1/classify"')
    return answered + server.figure("unmask_open_requests") - 1


@pytest.mark.slow
def test_accepted_work_is_finished_when_it_is_told_to_stop(folders: dict[str, Path]) -> None:
    server = Running(str(folders["quick"]))
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(server.client.classify, [TEXT] * 1500) for _ in range(8)]
        while _accepted(server) < 8:
            time.sleep(0.02)
        status = server.stop()
        assert [len(future.result()) for future in asked] == [1500] * 8
    assert status == 0
    assert not any(word in line for line in server.lines for word in ("Traceback", "hoped", "fox"))
    assert {json.loads(line)["event"] for line in server.lines} == {"request"}


@pytest.mark.slow
def test_a_folder_is_replaced_under_load_without_an_error(folders: dict[str, Path], tmp_path: Path) -> None:
    served, other = tmp_path / "mine", tmp_path / "other"
    shutil.copytree(folders["quick"], served)
    shutil.copytree(folders["quick"], other)
    server = Running(str(served))
    done = threading.Event()

    def ask() -> int:
        count = 0
        while not done.is_set():
            assert server.client.classify(TEXT)["label"]
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask) for _ in range(4)]
        served.rename(tmp_path / "old")
        other.rename(served)
        until = time.monotonic() + 60
        while not any('"reloaded"' in line for line in server.lines) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.2)
        done.set()
        assert all(future.result() > 0 for future in asked)
    assert server.figure('unmask_reloads_total{outcome="reloaded"}') == 1
    assert server.stop() == 0


def test_beyond_this_machine_it_wants_a_token() -> None:
    with pytest.raises(InputError, match="without a token"):
        check_exposure("0.0.0.0", None)
    with pytest.raises(InputError, match="empty token"):
        check_exposure("0.0.0.0", " ")
    check_exposure("0.0.0.0", "hunter2")


class Slow:
    """A model of one text a fiftieth of a second, in this process."""

    def __init__(self, **options: Any) -> None:
        self.models = Models({"slow": Path("nowhere")}, open=lambda _: self.application, **options)
        self.models.open()

    @property
    def application(self) -> Application:
        def classify(examples: list[Any]) -> list[Any]:
            time.sleep(0.02 * len(examples))
            return [Classified("fine", {"fine": 1.0}) for _ in examples]

        return Application("none", {"classify": classify})

    def ask(self, requests: int, **settings: Any) -> list[httpx.Response]:
        return asyncio.run(self._ask(requests, **settings))

    async def _ask(self, requests: int, **settings: Any) -> list[httpx.Response]:
        app = make_app(self.models, Settings(log=lambda *_, **__: None, **settings))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            asked = [client.post("/v1/classify", json={"text": "a"}) for _ in range(requests)]
            found = await asyncio.gather(*asked)
            await self.models.close()
        return found


def test_above_the_limit_there_are_only_refusals_that_say_when_to_come_back() -> None:
    found = Slow(limit=650).ask(60)
    statuses = [response.status_code for response in found]
    assert set(statuses) == {200, 429}
    refused = [response for response in found if response.status_code == 429]
    assert all(int(response.headers["Retry-After"]) >= 1 for response in refused)


def test_what_is_not_answered_in_time_is_told_so() -> None:
    found = Slow().ask(20, timeout=0.05)
    assert {response.status_code for response in found} <= {200, 504}
    assert found[-1].json()["error"]["code"] == "timeout"


def test_other_sites_may_not_ask_unless_allowed() -> None:
    async def ask(*origins: str) -> httpx.Response:
        app = make_app(Slow().models, Settings(origins=origins, token="hunter2", log=lambda *_, **__: None))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
            return await client.options("/v1/classify", headers=headers)

    assert "access-control-allow-origin" not in asyncio.run(ask()).headers
    allowed = asyncio.run(ask("https://a.example"))
    assert allowed.headers["access-control-allow-origin"] == "https://a.example"


def test_connections_do_not_wait_to_fill_a_packet() -> None:
    """Of a socket that does not say TCP asyncio keeps Nagle's waiting, and answers come 40 ms late."""
    with _bind("127.0.0.1", 0) as place:
        assert place.proto == socket.IPPROTO_TCP
        place.listen()
        with socket.create_connection(place.getsockname()), place.accept()[0] as accepted:
            assert accepted.proto == socket.IPPROTO_TCP
