"""Vocabulary files: read, written and refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import InputError
from unmask.text.vocabulary import SPECIAL_PIECES, read_vocabulary, write_vocabulary


def vocabulary_file(folder: Path, content: bytes) -> Path:
    path = folder / "vocab.txt"
    path.write_bytes(content)
    return path


def special_lines(end: str = "\n") -> bytes:
    return "".join(piece + end for piece in SPECIAL_PIECES).encode()


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), unique=True))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    pieces = [*SPECIAL_PIECES, *(word for word in words if word not in SPECIAL_PIECES)]
    write_vocabulary(path, pieces)
    assert read_vocabulary(path) == pieces


def test_windows_line_ends_and_a_byte_order_mark_are_not_part_of_pieces(tmp_path: Path) -> None:
    path = vocabulary_file(tmp_path, b"\xef\xbb\xbf" + special_lines("\r\n") + b"word\r\n\r\n")
    assert read_vocabulary(path) == [*SPECIAL_PIECES, "word"]


def test_a_line_separator_inside_a_piece_does_not_shift_the_ids(tmp_path: Path) -> None:
    path = vocabulary_file(tmp_path, special_lines() + "\u2028\n\u0085\nword".encode())
    assert read_vocabulary(path)[5:] == ["\u2028", "\u0085", "word"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n\n\n", "empty"),
        (special_lines() + b"a\nb\na\n", r"'a' on line 8 of .*vocab.txt and before it on line 6"),
        (special_lines() + b"a\n\nb\n", "a blank line 7"),
        (special_lines().replace(b"[MASK]\n", b"").replace(b"[CLS]\n", b""), r"without \[CLS\], \[MASK\]"),
        (special_lines() + b"caf\xe9\n", "byte 34 of which is not UTF-8"),
    ],
)
def test_a_bad_vocabulary_is_refused_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = vocabulary_file(tmp_path, content)
    with pytest.raises(InputError, match=message):
        read_vocabulary(path)


def test_a_missing_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_vocabulary(tmp_path / "vocab.txt")


def test_a_refused_vocabulary_leaves_the_old_file(tmp_path: Path) -> None:
    path = vocabulary_file(tmp_path, special_lines())
    for pieces in ([], [*SPECIAL_PIECES, "a", "a"], [*SPECIAL_PIECES, "a\nb"]):
        with pytest.raises(InputError):
            write_vocabulary(path, pieces)
    assert path.read_bytes() == special_lines()
    assert list(tmp_path.iterdir()) == [path]
