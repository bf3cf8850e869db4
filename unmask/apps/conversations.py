"""Conversations kept in an SQLite file: turns come in under an id, all turns so far go out, until they expire.

Ids cannot be guessed. Every change is one transaction in a write-ahead log: a process that is killed in the middle of
one leaves the file as it was before. Threads and processes may share the file.
"""

import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from unmask.errors import InputError

KEEP = 7 * 24 * 3600.0  # seconds after the last turn
ID = re.compile(r"[A-Za-z0-9_-]{22}")  # 128 random bits
WAIT = 30.0  # seconds for another process to finish its change
MOST_TURNS = 2_000  # of one conversation
SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, last REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS conversations_last ON conversations (last);
CREATE TABLE IF NOT EXISTS turns (
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    time REAL NOT NULL,
    PRIMARY KEY (conversation, number)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Turn:
    """Something that was said."""

    speaker: Literal["user", "bot"]
    text: str
    time: float = 0.0  # seconds since 1970; the store fills it in

    def to_dict(self) -> dict[str, Any]:
        """The turn as JSON has it."""
        return asdict(self)


class UnknownConversation(InputError):
    """An id that never was, has expired, or was deleted."""

    def __init__(self) -> None:
        # the id itself is not repeated: messages end up in logs, and who knows an id can read the conversation
        super().__init__("the id of no conversation", wanted="one that has not expired", do="begin a new one")


class Conversations:
    """Conversations in a file, or in memory for `:memory:`.

    >>> talks = Conversations(":memory:")
    >>> talk = talks.new()
    >>> talks.add(talk, Turn("user", "Hello!"), Turn("bot", "Good morning."))
    >>> [turn.text for turn in talks.turns(talk)]
    ['Hello!', 'Good morning.']
    >>> talks.delete(talk)
    >>> talks.turns(talk)
    Traceback (most recent call last):
    unmask.apps.conversations.UnknownConversation: got the id of no conversation; wanted one that has not expired; ...
    """

    def __init__(
        self, path: Path | str, keep: float = KEEP, *, clock: Callable[[], float] = time.time
    ) -> None:  # seconds
        self.path, self.keep, self.clock = path, keep, clock
        self._lock = threading.RLock()
        self._connection = _open(path)

    def new(self) -> str:
        """Begins a conversation; ids are 22 random letters, digits, - and _."""
        id = secrets.token_urlsafe(16)
        with self._change() as connection:
            connection.execute("INSERT INTO conversations VALUES (?, ?)", (id, self.clock()))
        return id

    def add(self, id: str, *turns: Turn) -> None:
        """Adds turns, all of them or none."""
        now = self.clock()
        with self._change() as connection:
            count = self._known(connection, id)
            if count + len(turns) > MOST_TURNS:
                raise InputError(f"turn {count + len(turns):,}", wanted=f"at most {MOST_TURNS:,}", do="begin a new one")
            rows = [(id, count + i, turn.speaker, turn.text, turn.time or now) for i, turn in enumerate(turns)]
            connection.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute("UPDATE conversations SET last = ? WHERE id = ?", (now, id))

    def turns(self, id: str) -> list[Turn]:
        """All turns so far, the oldest first."""
        query = "SELECT speaker, text, time FROM turns WHERE conversation = ? ORDER BY number"
        with self._lock, _in_words(self.path):
            self._known(self._connection, id)
            return [Turn(*row) for row in self._connection.execute(query, (id,))]

    def delete(self, id: str) -> None:
        """Forgets a conversation and everything said in it."""
        with self._change() as connection:
            self._known(connection, id)
            connection.execute("DELETE FROM conversations WHERE id = ?", (id,))

    def expire(self, now: float | None = None) -> int:
        """Forgets all conversations in which nothing was said for too long; how many there were."""
        before = (self.clock() if now is None else now) - self.keep
        with self._change() as connection:
            return connection.execute("DELETE FROM conversations WHERE last < ?", (before,)).rowcount

    def close(self) -> None:
        """Gives the file back."""
        with self._lock:
            self._connection.close()

    def _known(self, connection: sqlite3.Connection, id: str) -> int:
        """How many turns a conversation has; expired ones are unknown from the very moment on."""
        if not ID.fullmatch(id):
            raise UnknownConversation
        found = connection.execute(
            "SELECT (SELECT count(*) FROM turns WHERE conversation = id) FROM conversations WHERE id = ? AND last >= ?",
            (id, self.clock() - self.keep),
        ).fetchone()
        if found is None:
            raise UnknownConversation
        return int(found[0])

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the right to write at its beginning, so that no two count the same turns."""
        with self._lock, _in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _open(path: Path | str) -> sqlite3.Connection:
    with _in_words(path):
        if path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch(mode=0o600)  # what people said is for nobody else on the machine
        connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what was deleted is overwritten
        connection.executescript(SCHEMA)
    return connection


@contextmanager
def _in_words(path: Path | str) -> Iterator[None]:
    """What SQLite complains about, as something that a user can mend."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"{path}, conversations that cannot be kept ({error})", do="name another file") from error
