"""The journal of a run: `run.jsonl`, one line an event, only what a repeated run would write again byte for byte.

Times and speeds differ from run to run and go to `speed.jsonl` beside it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Journal:
    """An append-only file of JSON lines that can be cut back to where a checkpoint left it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def bytes(self) -> int:
        """How long the journal is."""
        return self.path.stat().st_size if self.path.exists() else 0

    def append(self, event: Mapping[str, Any]) -> None:
        """Adds one line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event, ensure_ascii=False) + "\n")

    def cut(self, length: int) -> None:
        """Forgets what was written after the first `length` bytes: the steps there will be taken again."""
        if self.bytes > length:
            os.truncate(self.path, length)

    def events(self) -> Iterator[dict[str, Any]]:
        """Everything written so far; a line that a crash left half-written is passed over."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
