"""The layouts in which dialogues are published: a file comes in, the raw turns of each dialogue go out, with its place.

json lines and json (KdConv's among them), plain text with a turn a line and a blank line between dialogues, DailyDialog
(turns end with `__eou__`), ChatterBot's yml, and the two files of the Cornell movie dialogues (fields between
` +++$+++ `). Every fault is named by file and line, or by the number of the dialogue where a file has no lines.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.data.cells import HALF_A_CHARACTER
from unmask.data.json_file import read_json
from unmask.data.text_lines import numbered_lines
from unmask.errors import InputError
from unmask.text.formats import ending_of

if TYPE_CHECKING:
    from yaml import Node

RawDialogue = tuple[str, list[str]]  # where it stands, and its turns as they are written
Layout = Callable[[Path], Iterator[RawDialogue]]

END_OF_UTTERANCE = "__eou__"
CORNELL = " +++$+++ "
LINES, CONVERSATIONS = "_lines.", "_conversations."  # in the names of Cornell's two files
CORNELL_ID = re.compile(r"[^\s\[\],'\"]+")
SPACED_MARK = re.compile(r"\s+([,.!?;:%)\]’]|n't\b|'(?:s|m|re|ve|ll|d|t)\b)")
SPACED_APOSTROPHE = re.compile(r"(?<=\w)\s*([’'])\s+(?=(?:s|m|re|ve|ll|d|t)\b)")
TURNS = ("turns", "messages")  # the field of an object that holds a dialogue
WORDS = ("message", "text", "content")  # the field of an object that holds a turn
WANTED = 'a list of turns, or an object with "turns" or "messages"'


def layout_of(path: Path) -> Layout:
    """How a file is read: by its ending, and text by its first line."""
    ending = ending_of(path)
    if ending not in BY_ENDING:
        raise InputError(str(path), wanted=f"dialogues in {', '.join(f'.{name}' for name in BY_ENDING)} (also .gz)")
    return BY_ENDING[ending]


def read_json_line_dialogues(path: Path) -> Iterator[RawDialogue]:
    """A dialogue a line: `{"turns": ["…", "…"]}`, or the list alone.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "talk.jsonl"
    >>> _ = file.write_text('{"turns": ["Tea?", "Yes."]}\\n["Cold!", "Very."]\\n')
    >>> [turns for _, turns in read_json_line_dialogues(file)]
    [['Tea?', 'Yes.'], ['Cold!', 'Very.']]
    """
    for number, line in numbered_lines(path):
        if line and not line.isspace():
            place = f"{path} line {number}"
            yield place, turns_of(_json(line, place), place)


def read_json_dialogues(path: Path) -> Iterator[RawDialogue]:
    """A file that is one list of dialogues, as KdConv has it: objects whose `messages` have a `message` each."""
    found = read_json(path)
    if not isinstance(found, list):
        raise InputError(f"{path} with a JSON {type(found).__name__}", wanted="a list of dialogues")
    for number, dialogue in enumerate(found, 1):
        place = f"{path} dialogue {number}"
        yield place, turns_of(dialogue, place)


def read_text_dialogues(path: Path) -> Iterator[RawDialogue]:
    """A text file: DailyDialog's or Cornell's if its first line looks so, else a turn a line."""
    first = next((line for _, line in numbered_lines(path) if line and not line.isspace()), "")
    if END_OF_UTTERANCE in first:
        yield from read_daily_dialogues(path)
    elif CORNELL in first:
        yield from read_cornell(path)
    else:
        yield from read_plain_dialogues(path)


def read_plain_dialogues(path: Path) -> Iterator[RawDialogue]:
    """A turn a line, a blank line between dialogues.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "talk.txt"
    >>> _ = file.write_text("Tea?\\nYes.\\n\\nCold!\\nVery.\\n")
    >>> [turns for _, turns in read_plain_dialogues(file)]
    [['Tea?', 'Yes.'], ['Cold!', 'Very.']]
    """
    begun, turns = 0, list[str]()
    for number, line in numbered_lines(path):
        if line and not line.isspace():
            begun = begun or number
            turns.append(line)
        elif turns:
            yield f"{path} line {begun}", turns
            begun, turns = 0, []
    if turns:
        yield f"{path} line {begun}", turns


def read_daily_dialogues(path: Path) -> Iterator[RawDialogue]:
    """A dialogue a line, its turns ended by `__eou__`; the spaces that it puts before punctuation are taken out."""
    for number, line in numbered_lines(path):
        place = f"{path} line {number}"
        turns = [joined_marks(turn) for turn in line.split(END_OF_UTTERANCE)]
        if line and not line.isspace() and len(turns) == 1:
            raise InputError(f"{place} without {END_OF_UTTERANCE}", wanted="turns that each end with it")
        yield place, turns[:-1] if turns and not turns[-1] else turns


def joined_marks(text: str) -> str:
    """Words and their punctuation as people write them.

    >>> joined_marks("Well , that ’ s too far . Isn't it ?")
    "Well, that’s too far. Isn't it?"
    """
    return SPACED_MARK.sub(r"\1", SPACED_APOSTROPHE.sub(r"\1", text)).strip()


def read_chatterbot(path: Path) -> Iterator[RawDialogue]:
    """ChatterBot's yml: under `conversations` a list of lists of turns."""
    from yaml import MappingNode, SafeLoader, SequenceNode, YAMLError, compose

    text = "\n".join(line for _, line in numbered_lines(path))
    try:
        root = compose(text, Loader=SafeLoader)
    except YAMLError as error:
        raise InputError(f"{path} {_yaml_fault(error)}", wanted="a whole yml file") from None
    top = {name.value: value for name, value in root.value} if isinstance(root, MappingNode) else {}
    conversations = top.get("conversations")
    if not isinstance(conversations, SequenceNode):
        raise InputError(f"{path} without a list 'conversations'", wanted="the layout of ChatterBot's corpus")
    for conversation in conversations.value:
        # the corpus itself has a few single turns among its lists
        turns = conversation.value if isinstance(conversation, SequenceNode) else [conversation]
        yield f"{path} line {conversation.start_mark.line + 1}", [_scalar(turn, path) for turn in turns]


def read_cornell(path: Path) -> Iterator[RawDialogue]:
    """The conversations of Cornell's layout; `X_lines.txt`, with what was said, lies beside `X_conversations.txt`."""
    if CONVERSATIONS not in path.name:
        do = "name the conversations file, with the lines file beside it"
        raise InputError(f"{path}, lines without conversations", wanted=f"X{CONVERSATIONS}txt", do=do)
    lines_path = path.with_name(path.name.replace(CONVERSATIONS, LINES))
    said = {}
    for number, line in numbered_lines(lines_path):
        if line and not line.isspace():
            fields = _fields(line, f"{lines_path} line {number}")
            said[fields[0].strip()] = fields[-1]
    for number, line in numbered_lines(path):
        if line and not line.isspace():
            place = f"{path} line {number}"
            ids = CORNELL_ID.findall(_fields(line, place)[-1])
            unknown = next((id for id in ids if id not in said), None)
            if unknown is not None:
                raise InputError(f"{place}: line {unknown!r}, which {lines_path.name} does not have")
            yield place, [said[id] for id in ids]


def turns_of(dialogue: Any, place: str) -> list[str]:
    """The turns of a dialogue as JSON has it.

    >>> turns_of({"messages": [{"message": "Tea?"}, {"message": "Yes."}]}, "here")
    ['Tea?', 'Yes.']
    """
    if isinstance(dialogue, dict):
        dialogue = next((dialogue[name] for name in TURNS if name in dialogue), None)
    if not isinstance(dialogue, list):
        raise InputError(f"{place}: no dialogue", wanted=WANTED)
    return [_turn(turn, f"{place}, turn {number}") for number, turn in enumerate(dialogue, 1)]


def _turn(turn: Any, place: str) -> str:
    if isinstance(turn, dict):
        turn = next((turn[name] for name in WORDS if name in turn), None)
    if not isinstance(turn, str):
        raise InputError(f"{place}: a {type(turn).__name__}", wanted=f"text, or an object with {' or '.join(WORDS)}")
    return HALF_A_CHARACTER.sub("\ufffd", turn)


def _json(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: {error}", wanted="a dialogue as JSON on each line") from None


def _scalar(turn: "Node", path: Path) -> str:
    from yaml import ScalarNode

    if not isinstance(turn, ScalarNode):
        do = "put quotes around a turn that has a colon in it"
        raise InputError(f"{path} line {turn.start_mark.line + 1}, which is no text", wanted="a turn", do=do)
    return str(turn.value)


def _yaml_fault(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"line {mark.line + 1}: {problem}" if mark is not None else f": {problem}"


def _fields(line: str, place: str) -> list[str]:
    fields = line.split(CORNELL.rstrip())
    if len(fields) < 3:
        raise InputError(f"{place} with {len(fields)} fields", wanted=f"at least 3, with '{CORNELL}' between them")
    return fields


BY_ENDING: dict[str, Layout] = {
    "jsonl": read_json_line_dialogues,
    "json": read_json_dialogues,
    "txt": read_text_dialogues,
    "yml": read_chatterbot,
    "yaml": read_chatterbot,
}
