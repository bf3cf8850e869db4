"""Conversations are kept whole through threads, processes and kill -9, and forgotten when they should be."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.apps import conversations
from unmask.apps.conversations import ID, Conversations, Turn, UnknownConversation
from unmask.errors import InputError

WRITER = """
import sys
from unmask.apps.conversations import Conversations, Turn
talks, number = Conversations(sys.argv[1]), 0
while True:
    talks.add(sys.argv[2], Turn("user", f"question {number}"), Turn("bot", f"answer {number}"))
    number += 1
    print(number, flush=True)
"""


def test_what_was_said_survives_a_new_start(tmp_path: Path) -> None:
    talks = Conversations(tmp_path / "talks.db")
    talk = talks.new()
    talks.add(talk, Turn("user", "早上好！"), Turn("bot", "Good morning 🙂"))
    talks.close()
    assert [(turn.speaker, turn.text) for turn in Conversations(tmp_path / "talks.db").turns(talk)] == [
        ("user", "早上好！"),
        ("bot", "Good morning 🙂"),
    ]


def test_ids_are_long_and_different() -> None:
    talks = Conversations(":memory:")
    ids = {talks.new() for _ in range(100)}
    assert len(ids) == 100
    assert all(ID.fullmatch(id) for id in ids)


@given(st.lists(st.text(max_size=20), max_size=8))
@settings(max_examples=25)
def test_turns_come_back_as_they_were_said(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    talks = Conversations(":memory:")
    talk, other = talks.new(), talks.new()
    for text in texts:
        talks.add(talk, Turn("user", text))
    assert [turn.text for turn in talks.turns(talk)] == texts
    assert talks.turns(other) == []


@pytest.mark.parametrize("id", ["", "xyz", "' OR 1=1 --", "A" * 22, "é" * 22])
def test_an_unknown_id_is_said_to_be_unknown_and_not_repeated(id: str) -> None:
    talks = Conversations(":memory:")
    for ask in (talks.turns, talks.delete, lambda id: talks.add(id, Turn("user", "Hi"))):
        with pytest.raises(UnknownConversation) as error:
            ask(id)
        assert not id or id not in str(error.value)


def test_a_conversation_expires_after_its_last_turn_and_is_then_gone_from_the_file(tmp_path: Path) -> None:
    now = [1000.0]
    talks = Conversations(tmp_path / "talks.db", keep=60, clock=lambda: now[0])
    early, late = talks.new(), talks.new()
    talks.add(early, Turn("user", "a secret"))
    now[0] = 1050
    talks.add(late, Turn("user", "later"))
    now[0] = 1061
    with pytest.raises(UnknownConversation):
        talks.turns(early)
    assert [turn.time for turn in talks.turns(late)] == [1050]
    assert talks.expire() == 1
    talks.close()
    rows = sqlite3.connect(tmp_path / "talks.db").execute("SELECT text FROM turns").fetchall()
    assert rows == [("later",)]
    assert b"a secret" not in (tmp_path / "talks.db").read_bytes()


def test_a_deleted_conversation_takes_its_turns_along() -> None:
    talks = Conversations(":memory:")
    talk, other = talks.new(), talks.new()
    talks.add(talk, Turn("user", "forget this"))
    talks.add(other, Turn("user", "keep this"))
    talks.delete(talk)
    with pytest.raises(UnknownConversation):
        talks.turns(talk)
    assert [turn.text for turn in talks.turns(other)] == ["keep this"]


def test_threads_lose_no_turn_and_divide_no_exchange(tmp_path: Path) -> None:
    talks = Conversations(tmp_path / "talks.db")
    talk = talks.new()

    def speak(name: int) -> None:
        for number in range(20):
            talks.add(talk, Turn("user", f"{name} {number}"), Turn("bot", f"{name} {number}"))

    threads = [threading.Thread(target=speak, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [turn.text for turn in talks.turns(talk)]
    assert len(texts) == 160
    assert texts[::2] == texts[1::2]


def test_two_stores_of_one_file_see_each_others_turns(tmp_path: Path) -> None:
    one, two = Conversations(tmp_path / "talks.db"), Conversations(tmp_path / "talks.db")
    talk = one.new()
    two.add(talk, Turn("user", "from the other"))
    assert [turn.text for turn in one.turns(talk)] == ["from the other"]


@pytest.mark.slow
def test_a_killed_process_leaves_whole_exchanges_and_all_that_it_had_confirmed(tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    talk = Conversations(file).new()
    for _ in range(5):
        before = len(Conversations(file).turns(talk))
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(file), talk], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        confirmed = [int(process.stdout.readline()) for _ in range(10)][-1]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        turns = Conversations(file).turns(talk)
        assert len(turns) >= before + 2 * confirmed
        assert [turn.speaker for turn in turns] == ["user", "bot"] * (len(turns) // 2)
        assert all(
            ask.text.split()[1] == reply.text.split()[1] for ask, reply in zip(turns[::2], turns[1::2], strict=True)
        )


def test_a_conversation_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MOST_TURNS", 3)
    talks = Conversations(":memory:")
    talk = talks.new()
    talks.add(talk, Turn("user", "1"), Turn("bot", "2"))
    with pytest.raises(InputError, match="at most 3"):
        talks.add(talk, Turn("user", "3"), Turn("bot", "4"))
    assert len(talks.turns(talk)) == 2


def test_a_file_that_is_no_store_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "talks.db").write_text("not a database, but long enough to be looked at " * 40)
    with pytest.raises(InputError, match="cannot be kept"):
        Conversations(tmp_path / "talks.db")
    with pytest.raises(InputError, match="cannot be kept"):
        Conversations(tmp_path)


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    Conversations(tmp_path / "talks.db").new()
    assert (tmp_path / "talks.db").stat().st_mode & 0o077 == 0
