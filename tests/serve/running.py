"""A server in a process of its own, as people start it."""

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Sequence

import unmask


class Running:
    """A server in a process of its own, and what it logs."""

    def __init__(self, *words: str, command: Sequence[str] = ()) -> None:
        command = command or ["-m", "unmask", "serve", *words, "--port", "0", "--json", "--threads", "1"]
        self.process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line.startswith("{"), line
        self.said = json.loads(line)
        self.lines: list[str] = []
        self._reading = threading.Thread(target=lambda: self.lines.extend(self.process.stderr or ()))
        self._reading.start()
        self.client = unmask.Client(self.said["address"])

    @property
    def port(self) -> int:
        return int(self.said["address"].rpartition(":")[2])

    def figure(self, name: str) -> float:
        with urllib.request.urlopen(f"{self.said['address']}/metrics") as response:
            lines = response.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def ask(self, raw: bytes, *, ends: bool = False, seconds: float = 30.0) -> bytes:
        """Whatever comes back for some bytes on a connection of their own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(raw)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    def kill(self) -> None:
        """As a crash does it."""
        self.process.kill()
        self._end()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self._end()

    def _end(self) -> int:
        status = self.process.wait(60)
        self._reading.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status
