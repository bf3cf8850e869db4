"""Clients of a server, in a process of their own: each asks, waits for its answer, and asks again.

    python -m unmask.lab.serve_clients PORT BODIES CLIENTS SECONDS [REQUESTS]

BODIES is a file with a JSON body a line. A line of JSON says how many requests were answered with which status, and
how long answers took; with REQUESTS it ends after as many, else after SECONDS.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOST = 0  # the status of a request whose connection broke


@dataclass
class Asked:
    """What clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # of each request that was answered with 200

    def to_dict(self, took: float) -> dict[str, Any]:
        """The figures.

        >>> Asked(Counter({200: 4}), [0.1, 0.2, 0.3, 0.4]).to_dict(2.0)["per_second"]
        2.0
        """
        order = sorted(self.seconds)
        at = (
            {name: order[min(len(order) - 1, int(share * len(order)))] for name, share in SHARES.items()}
            if order
            else {}
        )
        return {"per_second": len(order) / took, **at, "statuses": {str(s): n for s, n in self.statuses.items()}}


SHARES = {"p50": 0.5, "p99": 0.99}


async def ask_for(
    port: int, bodies: Sequence[bytes], clients: int, seconds: float, requests: int | None = None
) -> dict[str, Any]:
    """All clients at once until the time is up or enough was asked."""
    asked, started = Asked(), time.perf_counter()
    left = iter(range(requests)) if requests is not None else iter(int, 1)  # the second never ends
    until = started + seconds if requests is None else float("inf")
    await asyncio.gather(*(_client(port, bodies, number, until, left, asked) for number in range(clients)))
    return asked.to_dict(time.perf_counter() - started)


async def _client(port: int, bodies: Sequence[bytes], number: int, until: float, left: Any, asked: Asked) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    place = number * 7919  # each begins somewhere else
    while time.perf_counter() < until and next(left, None) is not None:
        body, place = bodies[place % len(bodies)], place + 1
        started = time.perf_counter()
        try:
            status = await _ask(reader, writer, body)
        except (OSError, asyncio.IncompleteReadError):
            asked.statuses[LOST] += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
            continue
        asked.statuses[status] += 1
        if status == 200:
            asked.seconds.append(time.perf_counter() - started)
        else:
            await asyncio.sleep(0.05)  # as polite as a client in a benchmark can be
    writer.close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> int:
    """One request on a connection that stays open; its status."""
    head = f"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"\r\n" + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:"))
    await reader.readexactly(length)
    return int(lines[0].split()[1])


def main() -> None:
    """Asks, and says what came of it."""
    port, bodies, clients, seconds, *requests = sys.argv[1:]
    lines = Path(bodies).read_bytes().splitlines()
    count = int(requests[0]) if requests else None
    print(json.dumps(asyncio.run(ask_for(int(port), lines, int(clients), float(seconds), count))))


if __name__ == "__main__":
    main()
