"""The benchmark of servers: its clients against a server that is known, and both sides once with small numbers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model

from unmask.compress.export import export
from unmask.lab.bench_serve import measure_serving, measure_tiny
from unmask.lab.serve_clients import ask_for
from unmask.model.folder import save_model


async def answered(statuses: list[int], **wanted: Any) -> dict[str, Any]:
    """What clients see of a server that answers with one status after the other."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            seen.append(head)
            rest = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split()[1]) for line in rest.splitlines() if line.startswith(b"Content-Length"))
            await reader.readexactly(length)
            status = statuses[(len(seen) - 1) % len(statuses)]
            writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        return await ask_for(port, [b'{"text": "a"}', b'{"text": "bc"}'], **wanted)


def test_clients_count_every_status_and_time_only_what_was_answered() -> None:
    found = asyncio.run(answered([200, 200, 429], clients=3, seconds=0, requests=30))
    assert found["statuses"] == {"200": 20, "429": 10}
    assert 0 < found["p50"] <= found["p99"]


def test_clients_stop_when_their_time_is_up() -> None:
    assert asyncio.run(answered([200], clients=2, seconds=0.1))["statuses"]["200"] > 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    opened = small_model("classes")
    save_model(tmp_path / "theirs", opened.config, opened.model, opened.tokenizer, opened.about)
    export(opened, tmp_path / "ours")
    (tmp_path / "bodies.jsonl").write_text('{"text": "the dog"}\n{"text": "a lazy fox"}\n')
    (tmp_path / "flood.jsonl").write_text(json.dumps({"text": ["the quick brown fox"] * 10}) + "\n")
    return tmp_path


@pytest.mark.slow
def test_both_sides_are_measured_in_turns(folder: Path) -> None:
    found = measure_serving(folder, ["ours", "theirs"], clients=[1, 3], rounds=1, seconds=0.3, threads=1).to_dict()
    assert found["ratio"] == pytest.approx(found["ours"] / found["theirs"])
    assert [found["clients"][count][side]["errors"] for count in "13" for side in ("ours", "theirs")] == [0] * 4


@pytest.mark.slow
def test_memory_and_the_limit_are_looked_at(folder: Path) -> None:
    found = measure_tiny(folder, 60, 0.3, threads=1)
    assert found["statuses"]["first"]["200"] + found["statuses"]["rest"]["200"] == 60
    assert set(found["statuses"]["flood"]) <= {"200", "429"}
    assert found["statuses"]["afterwards"] == {"200": 10}
    assert found["bytes_late"] < 1.5 * found["bytes_early"]
