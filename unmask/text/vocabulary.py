"""A vocabulary file: one piece a line, its id the number of the line; published as vocab.txt with every BERT.

Comes in: a path. Goes out: a list of pieces that a model can rely on (special pieces present, no piece twice).
"""

import re
from collections.abc import Sequence
from pathlib import Path

from unmask import files
from unmask.errors import InputError

SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_vocabulary(path: Path) -> list[str]:
    """The pieces of a vocabulary file in the order of their ids, checked.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "vocab.txt"
    >>> write_vocabulary(path, [*SPECIAL_PIECES, "un", "##mask"])
    >>> read_vocabulary(path)
    ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'un', '##mask']
    """
    # Only \n ends a line: str.splitlines would also cut at U+2028 and U+0085, which published vocabularies hold.
    pieces = [line.removesuffix("\r") for line in _read_text(path).rstrip("\r\n").split("\n")]
    check_vocabulary(pieces, str(path))
    return pieces


def write_vocabulary(path: Path, pieces: Sequence[str]) -> None:
    """Writes a vocabulary file, whole or not at all; what `read_vocabulary` would refuse is refused here."""
    check_vocabulary(pieces, f"a vocabulary for {path}")
    for number, piece in enumerate(pieces, start=1):
        if "\n" in piece or piece.endswith("\r"):
            raise InputError(f"piece {number}, {piece!r}, for {path}", wanted="pieces without line ends")
    try:
        with files.atomic_path(path) as temporary:
            temporary.write_bytes("".join(f"{piece}\n" for piece in pieces).encode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", wanted="a place where a file can be written") from None


def check_vocabulary(pieces: Sequence[str], source: str) -> None:
    """Refuses a vocabulary that is empty, lacks a special piece, or has a blank or repeated piece.

    >>> check_vocabulary([*SPECIAL_PIECES, "a", "a"], "vocab.txt")
    Traceback (most recent call last):
    unmask.errors.InputError: got 'a' on line 7 of vocab.txt and before it on line 6; wanted each piece once; remove one
    """
    if not any(pieces):
        raise InputError(f"{source}, which is empty", wanted="a vocabulary with one piece a line")
    present = set(pieces)
    if missing := [piece for piece in SPECIAL_PIECES if piece not in present]:
        raise InputError(f"{source} without {', '.join(missing)}", wanted=f"the pieces {' '.join(SPECIAL_PIECES)}")
    lines: dict[str, int] = {}
    for number, piece in enumerate(pieces, start=1):
        if not piece:
            raise InputError(f"a blank line {number} in {source}", wanted="one piece a line", do="remove the line")
        if (first := lines.setdefault(piece, number)) != number:
            where = f"{piece!r} on line {number} of {source} and before it on line {first}"
            raise InputError(where, wanted="each piece once", do="remove one")


def has_capitals(pieces: Sequence[str]) -> bool:
    """Whether a vocabulary is a cased one: a lower-casing tokenizer cannot have learned capitals.

    >>> has_capitals([*SPECIAL_PIECES, "bert"]), has_capitals([*SPECIAL_PIECES, "B", "##ert"])
    (False, True)
    """
    return any(re.search("[A-Z]", piece) for piece in pieces if not re.fullmatch(r"\[.*\]", piece))


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        where = f"{path}, byte {error.start} of which is not UTF-8"
        raise InputError(where, wanted="a vocabulary in UTF-8", do="convert the file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", wanted="a vocabulary file that can be read") from None
