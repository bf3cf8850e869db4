"""`unmask chat` talks line by line, keeps conversations, and trains and measures chats."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from chats import small_encoder, write_talks
from command import Command

from unmask import cli
from unmask.apps.conversations import Conversations
from unmask.apps.not_knowing import WORDS
from unmask.cli.chat import again


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys, "chat")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a chat that the command trained."""
    home = tmp_path_factory.mktemp("chat")
    write_talks(home / "talks.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        words = ["chat", "train", "talks.jsonl", "-o", "mine", "-m", str(small_encoder(home / "encoder"))]
        options = ["--epochs", "2", "--lr", "3e-3", "--most-read", "40", "--length", "32", "--quiet", "--json"]
        patch.chdir(home)
        patch.setattr("sys.argv", ["unmask", *words, *options])
        patch.setattr("sys.stdout", told := io.StringIO())
        with pytest.raises(SystemExit):
            cli.main()
    (home / "told.json").write_text(told.getvalue())
    return home


def test_training_tells_what_came_of_it_as_one_object(home: Path) -> None:
    told = json.loads((home / "told.json").read_text())
    assert {"folder", "dialogues", "responses", "scores", "threshold", "seconds"} <= told.keys()
    assert set(told["scores"]) == {"chat", "tower", "cross_encoder", "bm25", "random", "untrained"}
    assert told["scores"]["random"]["r10_at_1"] == pytest.approx(0.1, abs=0.01)


def test_every_line_in_is_a_line_out(chat: Command, home: Path) -> None:
    status, out, _ = chat(str(home / "mine"), "--quiet", said=b"do you like soup?\n\nwe went to the market.\n")
    assert status == 0
    assert len(out.splitlines()) == 2


def test_with_json_every_line_out_is_an_object(chat: Command, home: Path) -> None:
    said = b"do you like soup?\n/why\n/new\n/dance\nbad \xff bytes\nwe went to the market.\n/quit\nnever read\n"
    status, out, _ = chat(str(home / "mine"), "--json", said=said)
    first, why, new, unknown, unreadable, last = map(json.loads, out.splitlines())
    assert status == 0
    assert first.keys() == {"answer", "score", "source", "candidates", "words", "conversation"}
    assert why["candidates"] == first["candidates"]
    assert new["conversation"] == last["conversation"] != first["conversation"]
    assert "/dance" in unknown["error"]
    assert "half a character" in unreadable["error"]


def test_a_single_turn_is_one_object(chat: Command, home: Path) -> None:
    status, out, _ = chat(str(home / "mine"), "--say", "do you like soup?", "--json")
    assert status == 0
    assert json.loads(out)["words"]


def test_a_conversation_is_kept_and_goes_on_by_its_id(chat: Command, home: Path, tmp_path: Path) -> None:
    kept = ("--keep", str(tmp_path / "talks.db"))
    _, out, _ = chat(str(home / "mine"), *kept, "--say", "do you like soup?", "--json")
    begun = json.loads(out)
    _, out, _ = chat(
        str(home / "mine"), *kept, "--conversation", begun["conversation"], "--say", "do you like soup?", "--json"
    )
    assert json.loads(out)["words"] != begun["words"]
    assert len(Conversations(tmp_path / "talks.db").turns(begun["conversation"])) == 4


def test_without_a_folder_the_chat_of_the_package_speaks_both_languages(chat: Command) -> None:
    status, out, _ = chat(said="Hello!\n你好\nWhat is the melting point of tungsten?\n钨的熔点是多少？\n".encode())
    assert status == 0
    hello, chinese, unknown, unknown_chinese = out.splitlines()
    assert "unmask" in hello
    assert "unmask" in chinese
    assert unknown in WORDS["en"]
    assert unknown_chinese in WORDS["zh"]


def test_a_chat_is_measured_beside_bm25_and_chance(chat: Command, home: Path) -> None:
    status, out, _ = chat("evaluate", str(home / "mine"), "--data", str(home / "talks.jsonl"), "--most", "40", "--json")
    told = json.loads(out)
    assert (status, told["pools"]) == (0, 40)
    assert told["scores"]["random"]["r10_at_2"] == pytest.approx(0.2)
    _, out, _ = chat("evaluate", str(home / "mine"), "--data", str(home / "talks.jsonl"), "--most", "40")
    assert "R10@1" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "wanted a folder of the application 'chat'"),
        (["{home}/encoder"], "wanted a folder of the application 'chat'"),
        (["{home}/mine", "--conversation", "A" * 22, "--keep", "{tmp}/talks.db"], "the id of no conversation"),
        (["{home}/mine", "--say", " "], "an empty turn"),
        (["{home}/mine", "--keep", "{home}/told.json"], "cannot be kept"),
        (["train", "{tmp}/none.jsonl", "-o", "{tmp}/new"], "no file or folder"),
        (["train", "{home}/talks.jsonl", "-o", "{home}/encoder"], "holds other things"),
        (["evaluate", "{home}/mine", "--data", "{home}/told.json"], "a list of dialogues"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    chat: Command, home: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    status, out, err = chat(*(word.format(home=home, tmp=tmp_path) for word in words), "--quiet")
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.slow
def test_at_a_terminal_lines_are_asked_for_and_the_conversation_can_be_gone_on_with(tmp_path: Path, home: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", "chat", str(home / "mine")],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )
    os.write(ours, b"do you like soup?\n/why\n/quit\n")
    out, err = (part.decode() for part in process.communicate(timeout=120))
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    assert "> " in out
    assert "/quit ends" in err
    id = err.strip().rsplit(" ", 1)[1]
    assert len(Conversations(tmp_path / "unmask" / "conversations.db").turns(id)) == 2


def test_the_command_that_goes_on_names_the_chat_and_where_it_is_kept() -> None:
    told = again("x7", Path("keeper"), Path("talks.db"), [Path("faq")], [Path("notes")])
    assert told == "unmask chat keeper --faq faq --documents notes --keep talks.db --conversation x7"
