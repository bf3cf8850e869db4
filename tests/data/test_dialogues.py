"""Dialogues are read from every layout that they are published in, and faults are named by file and line."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.dialogue_layouts import joined_marks
from unmask.data.dialogues import Dialogue, dialogue_files, exchanges, read_dialogues
from unmask.errors import InputError

TALK = ("Is the lamp lit?", "It is, since six.", "Good.")
LAYOUTS = {
    "turns.jsonl": json.dumps({"turns": TALK}) + "\n",
    "lists.jsonl": json.dumps(TALK) + "\n",
    "chat.jsonl": json.dumps({"messages": [{"role": "user", "content": turn} for turn in TALK]}) + "\n",
    "kdconv.json": json.dumps([{"messages": [{"message": turn, "attrs": []} for turn in TALK], "name": "lamps"}]),
    "lists.json": json.dumps([TALK]),
    "plain.txt": "\n".join(TALK) + "\n",
    "daily.txt": " __eou__ ".join(["Is the lamp lit ?", "It is , since six .", "Good ."]) + " __eou__\n",
    "chatterbot.yml": "categories:\n- lamps\nconversations:\n- - Is the lamp lit?\n  - It is, since six.\n  - Good.\n",
    "it_conversations.txt": "u0 +++$+++ u1 +++$+++ m0 +++$+++ ['L1', 'L2', 'L3']\n",
}
CORNELL_LINES = "\n".join(f"L{n} +++$+++ u{n % 2} +++$+++ ANN +++$+++ {turn}" for n, turn in enumerate(TALK, 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in LAYOUTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "it_lines.txt").write_text(CORNELL_LINES, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same_dialogue(folder: Path, name: str) -> None:
    assert [dialogue.turns for dialogue in read_dialogues([folder / name]).dialogues] == [TALK]


@pytest.mark.parametrize("name", [name for name in LAYOUTS if "conversations" not in name])
def test_compressed_files_are_read_as_plain_ones(folder: Path, name: str) -> None:
    packed = folder / f"{name}.gz"
    packed.write_bytes(gzip.compress((folder / name).read_bytes()))
    assert read_dialogues([packed]).dialogues[0].turns == TALK


def test_a_folder_gives_all_its_dialogues_and_leaves_other_files_alone(folder: Path) -> None:
    (folder / "notes.md").write_text("not a dialogue")
    assert len(read_dialogues([folder]).dialogues) == len(LAYOUTS)
    assert "it_lines.txt" not in {path.name for path in dialogue_files([folder])}


def test_blank_lines_divide_plain_text_and_blank_lines_more_divide_nothing_more(tmp_path: Path) -> None:
    file = tmp_path / "talk.txt"
    file.write_text("\n\nA\nB\n\n \n\nC\nD\nE")
    read = read_dialogues([file]).dialogues
    assert [dialogue.turns for dialogue in read] == [("A", "B"), ("C", "D", "E")]
    assert [dialogue.source for dialogue in read] == [f"{file} line 3", f"{file} line 8"]


def test_yml_keeps_numbers_and_yes_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "facts.yml"
    file.write_text("conversations:\n- - Really?\n  - Yes\n- - How many?\n  - 042\n")
    assert [dialogue.turns[1] for dialogue in read_dialogues([file]).dialogues] == ["Yes", "042"]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text('["Hi"]\n[]\n["", " "]\n["A", "", "B"]\n')
    found = read_dialogues([file])
    assert [dialogue.turns for dialogue in found.dialogues] == [("A", "B")]
    assert found.notes == (
        "2 empty dialogues left out",
        "1 dialogue with one turn left out",
        "1 empty turn left out",
    )


FAULTS = {
    "half.jsonl": ('["A", "B"]\n["A", \n', "line 2"),
    "number.jsonl": ('["A", "B"]\n\n["A", 7]\n', "line 3, turn 2: a int"),
    "object.jsonl": ('{"talk": []}\n', "line 1: no dialogue"),
    "object.json": ('{"turns": ["A", "B"]}', "a list of dialogues"),
    "half.json": ('[["A",\n "B"\n', "line 2"),
    "turns.json": ('[["A", "B"], "C"]', "dialogue 2"),
    "daily.txt": ("A __eou__ B __eou__\nno end\n", "line 2 without __eou__"),
    "broken.yml": ("conversations:\n- - A\n - B\n", "line 3"),
    "other.yml": ("greetings: []\n", "without a list 'conversations'"),
    "colon.yml": ("conversations:\n- - A\n  - b: c\n", "line 3, which is no text"),
    "flat.yml": ("conversations:\n- A\n", "1 dialogue with one turn left out"),
    "x_conversations.txt": ("u0 +++$+++ u1 +++$+++ ['L9']\n", "no file"),
    "x_lines.txt": (CORNELL_LINES, "lines without conversations"),
    "one.txt": ("only one\n", "1 dialogue with one turn left out"),
    "empty.txt": ("", "no dialogues in"),
    "nul.txt": ("A\nB\0\n", "line 1 with a NUL"),
    "sheet.xlsx": ("", "wanted dialogues in .jsonl"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_by_file_and_line(tmp_path: Path, name: str) -> None:
    text, said = FAULTS[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_dialogues([tmp_path / name])
    assert name.replace("conversations", "lines") in str(error.value) or name in str(error.value)
    assert said in str(error.value)


def test_a_line_that_cornells_other_file_lacks_is_named(folder: Path) -> None:
    (folder / "it_conversations.txt").write_text("u0 +++$+++ u1 +++$+++ m0 +++$+++ ['L1', 'L8']\n")
    with pytest.raises(InputError, match=r"line 1: line 'L8', which it_lines.txt does not have"):
        read_dialogues([folder / "it_conversations.txt"])


def test_bytes_that_are_no_text_and_broken_archives_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"A\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"latin.txt line 2"):
        read_dialogues([tmp_path / "latin.txt"])
    (tmp_path / "half.txt.gz").write_bytes(gzip.compress(b"A\nB\n" * 99)[:-9])
    with pytest.raises(InputError, match=r"half.txt.gz"):
        read_dialogues([tmp_path / "half.txt.gz"])


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        read_dialogues([tmp_path / "nowhere.txt"])
    with pytest.raises(InputError, match="wanted files ending in"):
        read_dialogues([tmp_path])


@given(st.lists(st.text(min_size=1), min_size=2, max_size=8))
def test_every_turn_but_the_first_is_a_response_to_all_before_it(turns: list[str]) -> None:
    found = exchanges(Dialogue(tuple(turns)))
    assert [(*exchange.context, exchange.response) for exchange in found] == [
        tuple(turns[: place + 1]) for place in range(1, len(turns))
    ]


@given(st.text(alphabet="ab .,!?'’s", max_size=30))
def test_joining_marks_loses_nothing_but_spaces(text: str) -> None:
    assert joined_marks(text).replace(" ", "") == text.replace(" ", "")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("dailydialog/dialogues_validation.txt", 1000),
        ("kdconv/travel/dev.json", 150),
        ("kdconv/film/test.json.gz", 150),
        ("egret_wenda", 2900),
        ("chatterbot/english", 1500),
        ("chatterbot/chinese", 400),
    ],
)
def test_the_public_sets_are_read_whole(shared_data: Path, path: str, count: int) -> None:
    assert len(read_dialogues([shared_data / path]).dialogues) >= count
