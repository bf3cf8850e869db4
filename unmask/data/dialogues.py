"""Dialogues of several turns: files and folders of known layouts come in, dialogues go out, and what was left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.data.cells import left_out_notes
from unmask.data.dialogue_layouts import BY_ENDING, CONVERSATIONS, LINES, layout_of
from unmask.errors import InputError
from unmask.text.formats import ending_of

FEWEST = 2  # turns: something that was said, and what was said to it


@dataclass(frozen=True)
class Dialogue:
    """What was said in turn."""

    turns: tuple[str, ...]
    source: str = ""  # file and line, for messages


@dataclass(frozen=True)
class Exchange:
    """A turn and everything that was said before it."""

    context: tuple[str, ...]
    response: str


@dataclass(frozen=True)
class Dialogues:
    """The dialogues of files, and what had to be left out."""

    dialogues: tuple[Dialogue, ...]
    notes: tuple[str, ...] = ()


def read_dialogues(paths: Sequence[Path]) -> Dialogues:
    """All dialogues of two turns or more; spaces are single, empty turns and dialogues are left out and counted.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "talk.jsonl"
    >>> _ = file.write_text('["Tea?", " Yes,  please."]\\n[]\\n["Hello?"]\\n')
    >>> found = read_dialogues([file])
    >>> [dialogue.turns for dialogue in found.dialogues], found.notes
    ([('Tea?', 'Yes, please.')], ('1 empty dialogue left out', '1 dialogue with one turn left out'))
    """
    found, empty, single, blank = list[Dialogue](), 0, 0, 0
    for path in dialogue_files(paths):
        for place, raw in layout_of(path)(path):
            turns = tuple(" ".join(turn.split()) for turn in raw)
            kept = tuple(_sound(turn, place) for turn in turns if turn)
            empty += not kept
            single += len(kept) == 1
            if len(kept) >= FEWEST:
                blank += len(turns) - len(kept)
                found.append(Dialogue(kept, place))
    notes = left_out_notes({"empty dialogue": empty, "dialogue with one turn": single, "empty turn": blank})
    if not found:
        said = f" ({', '.join(notes)})" if notes else ""
        raise InputError(f"no dialogues in {', '.join(map(str, paths))}{said}", wanted="dialogues of two turns or more")
    return Dialogues(tuple(found), notes)


def dialogue_files(paths: Sequence[Path]) -> list[Path]:
    """The files named, and those of a known ending in folders; of Cornell's two files only the conversations."""
    found = list[Path]()
    for path in paths:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
            found += sorted(file for file in inside if ending_of(file) in BY_ENDING and not _has_conversations(file))
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"no file or folder {path}", wanted="files of dialogues", do="check the path")
    if not found:
        endings = ", ".join(f".{name}" for name in BY_ENDING)
        raise InputError(f"no dialogues in {', '.join(map(str, paths))}", wanted=f"files ending in {endings}")
    return found


def exchanges(dialogue: Dialogue) -> list[Exchange]:
    """Every turn but the first, with all turns before it.

    >>> exchanges(Dialogue(("Tea?", "Yes.", "Milk?")))[1]
    Exchange(context=('Tea?', 'Yes.'), response='Milk?')
    """
    return [Exchange(dialogue.turns[:place], dialogue.turns[place]) for place in range(1, len(dialogue.turns))]


def _has_conversations(file: Path) -> bool:
    return LINES in file.name and file.with_name(file.name.replace(LINES, CONVERSATIONS)).exists()


def _sound(turn: str, place: str) -> str:
    if "\0" in turn:
        raise InputError(f"{place} with a NUL character", wanted="text", do="fetch or convert the file again")
    return turn
