"""Documents of every format and compression, cut and whole, and what is said of files that cannot be read."""

import csv
import gzip
import json
import os
import textwrap
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import InputError
from unmask.text import formats, streams
from unmask.text.documents import find_files, is_wrapped, read_documents, read_texts, sentences_of
from unmask.text.formats import TextRange, cut_ranges, read_range

STORIES = ["A fox ran.\nIt slept.", 'He said "go", and went.\n天亮了。', "One line, one sentence"]
SENTENCES = [("A fox ran.", "It slept."), ('He said "go", and went.', "天亮了。"), ("One line, one sentence",)]


def write_txt(path: Path, texts: Iterable[str], _: str) -> None:
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def write_jsonl(path: Path, texts: Iterable[str], column: str) -> None:
    rows = (json.dumps({"id": number, column: text}) for number, text in enumerate(texts))
    path.write_text("\n".join(rows), encoding="utf-8")


def write_csv(path: Path, texts: Iterable[str], column: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", column], *([number, text] for number, text in enumerate(texts))])


def write_tsv(path: Path, texts: Iterable[str], column: str) -> None:
    rows = (f"{number}\t{text}".replace("\n", " ") for number, text in enumerate(texts))
    path.write_text("\n".join([f"id\t{column}", *rows]), encoding="utf-8")


def write_parquet(path: Path, texts: Iterable[str], column: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    texts = list(texts)
    write_table(pyarrow.table({"id": range(len(texts)), column: texts}), path, row_group_size=2)


WRITERS: dict[str, Callable[[Path, Iterable[str], str], None]] = {
    "txt": write_txt,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "tsv": write_tsv,
    "parquet": write_parquet,
}


def compress(path: Path, compression: str) -> Path:
    if not compression:
        return path
    packed = path.with_name(path.name + compression)
    if compression == ".gz":
        packed.write_bytes(gzip.compress(path.read_bytes()))
    else:
        with pytest.importorskip("pyarrow").output_stream(packed, compression="zstd") as stream:
            stream.write(path.read_bytes())
    path.unlink()
    return packed


def sentences(*paths: Path, **settings: str) -> list[tuple[str, ...]]:
    return [document.sentences for document in read_documents(paths, **settings)]  # type: ignore[arg-type]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_and_compression_gives_the_same_documents(tmp_path: Path, kind: str, compression: str) -> None:
    WRITERS[kind](tmp_path / f"stories.{kind}", STORIES, "text")
    assert sentences(compress(tmp_path / f"stories.{kind}", compression)) == SENTENCES


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet"])
def test_the_column_can_have_another_name_and_the_error_names_those_found(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"stories.{kind}"
    WRITERS[kind](path, STORIES, "body")
    assert sentences(path, column="body") == SENTENCES
    with pytest.raises(InputError, match=r"columns 'id', 'body'; wanted a column 'text'"):
        sentences(path)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.txt", "a.txt", "b/z.txt", "notes.md", ".hidden.txt"):
        (tmp_path / name).write_text(f"In {name}.", encoding="utf-8")
    assert [str(path.relative_to(tmp_path)) for path in find_files([tmp_path])] == ["a.txt", "b/z.txt", "c.txt"]
    assert sentences(tmp_path / "c.txt", tmp_path / "b") == [("In c.txt.",), ("In b/z.txt.",)]
    assert sentences(tmp_path / "notes.md") == [("In notes.md.",)]


def test_documents_say_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\nOne.\nTwo.\n \nThree.\n", encoding="utf-8")
    write_csv(tmp_path / "b.csv", ["Four.\nFive.", "Six."], "text")
    sources = [document.source for document in read_documents([tmp_path / "a.txt", tmp_path / "b.csv"])]
    assert sources == ["a.txt:3", "a.txt:6", "b.csv:2", "b.csv:4"]


def test_windows_line_ends_and_byte_order_marks_do_not_show(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfOne.\r\nTwo.\r\n\r\nThree.\r\n")
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbftext,id\r\nFour.,1\r\n")
    assert sentences(tmp_path / "a.txt", tmp_path / "a.csv") == [("One.", "Two."), ("Three.",), ("Four.",)]


# Lines: whole sentences, or wrapped paragraphs

PROSE = (
    "The harbour was quiet in the morning, and the boats lay side by side along the wall, as they always did when the "
    "wind came from the north. Nobody spoke of the storm. The old captain, who had seen worse, went from one to the "
    "next and looked at every rope with the same slow care. Then he sat down on the steps and lit his pipe."
)


@pytest.mark.parametrize("width", [45, 60, 72, 80, 100])
def test_hard_wrapped_text_is_joined_into_paragraphs_first(width: int) -> None:
    wrapped = "\n".join(textwrap.wrap(PROSE, width, break_on_hyphens=False))
    assert sentences_of(wrapped) == sentences_of(PROSE)
    assert sentences_of(wrapped, lines="sentences") != sentences_of(PROSE)


def test_wrapped_chinese_is_joined_without_spaces() -> None:
    text = (
        "清晨的港口很安静，船只并排停靠在墙边，每当北风吹来的时候总是这样。没有人提起那场风暴。老船长见过更糟的，" * 2
    )
    wrapped = "\n".join(text[start : start + 30] for start in range(0, len(text), 30))
    assert sentences_of(wrapped) == sentences_of(text)


def test_an_indented_line_begins_a_paragraph() -> None:
    text = "  The first one goes\non here\n  The second one too"
    assert sentences_of(text, lines="wrapped") == ["The first one goes on here", "The second one too"]


def test_lines_that_hold_sentences_are_left_alone() -> None:
    lines = sentences_of(PROSE)
    titles = ["A Day at the Harbour of the Old Town by the Sea", "Boats and ropes", "The captain's pipe"]
    verse = ["the rain upon the harbour wall", "the rope", "the slow and heavy boats that never leave"]
    for rows in (lines, titles, verse, [line.rstrip(".") for line in lines]):
        assert not is_wrapped(rows)
        assert sentences_of("\n".join(rows)) == rows


@given(st.lists(st.text(alphabet="abc .。\n\u3000我", max_size=30)))
def test_documents_of_txt_are_what_blank_lines_separate(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("txt") / "a.txt"
    whole = "\n\n".join([*texts, "The end."])
    path.write_text(whole, encoding="utf-8")
    expected: list[list[str]] = [[]]
    for line in whole.split("\n"):
        expected[-1].append(line) if line.strip() else expected.append([])
    found = [sentences_of("\n".join(lines)) for lines in expected]
    assert sentences(path) == [tuple(document) for document in found if document]


# Streams


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("size", [1, 40, 10_000])
def test_the_parts_of_a_file_hold_the_documents_of_the_whole(tmp_path: Path, kind: str, size: int) -> None:
    path = tmp_path / f"stories.{kind}"
    WRITERS[kind](path, [f"{story} 第{number}个。" for number in range(9) for story in STORIES], "text")
    parts = cut_ranges(TextRange(path), size)
    texts = [text for part in parts for text in read_range(part) if text.text]
    assert texts == [text for text in read_range(TextRange(path)) if text.text]
    assert len(parts) == 1 if size == 10_000 else len(parts) > 2


@pytest.mark.parametrize("compression", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_parts_of_a_compressed_file_in_order_unpack_it_once(
    tmp_path: Path, kind: str, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[kind](tmp_path / f"a.{kind}", STORIES * 30, "text")
    parts = cut_ranges(TextRange(compress(tmp_path / f"a.{kind}", compression)), 200)
    opened: list[Path] = []
    real = streams._open_compressed
    monkeypatch.setattr(streams, "_open_compressed", lambda path: opened.append(path) or real(path))  # type: ignore[func-returns-value]
    in_order = [list(read_range(part)) for part in parts]
    headers = len(parts) - 1 if kind == "csv" else 0
    assert len(parts) > 9
    assert len(opened) == 1 + headers
    assert [list(read_range(part)) for part in parts[::2]] == in_order[::2]
    assert [list(read_range(part)) for part in parts[::-1]] == in_order[::-1]


@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv"])
def test_blocks_smaller_than_lines_change_nothing(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"stories.{kind}"
    WRITERS[kind](path, STORIES * 3, "text")
    expected = list(read_documents([path]))
    for size in (1, 7, 64):
        monkeypatch.setattr(streams, "BLOCK_BYTES", size)
        assert list(read_documents([path])) == expected


@pytest.mark.parametrize("unit", ["word ", "字", "a\n", "é"])
def test_memory_is_bounded_for_a_giant_document_and_no_character_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    monkeypatch.setattr(streams, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(streams.line_blocks, "__kwdefaults__", {"start": 0, "stop": None, "longest": 1 << 16})
    monkeypatch.setattr(formats, "LONGEST_DOCUMENT", 1 << 16)
    (tmp_path / "giant.txt").write_text(unit * (1_000_000 // len(unit.encode())), encoding="utf-8")
    tracemalloc.start()
    total = sum(
        len(text.text.replace("\n", "").replace(" ", "")) for text in read_range(TextRange(tmp_path / "giant.txt"))
    )
    assert total == len(unit.strip()) * (1_000_000 // len(unit.encode()))
    assert tracemalloc.get_traced_memory()[1] < 800_000
    tracemalloc.stop()


def test_read_texts_gives_every_line_in_large_blocks(tmp_path: Path) -> None:
    write_txt(tmp_path / "a.txt", STORIES * 50_000, "text")
    write_jsonl(tmp_path / "b.jsonl", STORIES, "text")
    blocks = list(read_texts([tmp_path]))
    assert "".join(blocks) == "\n\n".join(STORIES * 50_000) + "\n" + "\n".join(STORIES) + "\n"
    assert len(blocks) < 10


# Files that cannot be read


def failure(path: Path, **settings: str) -> str:
    with pytest.raises(InputError) as caught:
        sentences(path, **settings)
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "no file or folder" in failure(tmp_path / "absent.txt")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.txt").chmod(0)
    assert "Permission denied" in failure(tmp_path / "a.txt")


@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv", "tsv"])
def test_wrong_encoding_names_the_file_and_the_byte(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    WRITERS[kind](path, ["A line like the others."] * 60_000 + ["The last is a cafe."], "text")
    content = path.read_bytes()
    position = content.rindex(b"e.")
    path.write_bytes(content[:position] + b"\xe9" + content[position + 1 :])
    assert f"{path}: byte {position} (0xe9) is not UTF-8" in failure(path)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["txt", "parquet"])
def test_a_broken_compressed_file_is_named(tmp_path: Path, ending: str, kind: str) -> None:
    WRITERS[kind](tmp_path / f"a.{kind}", [story * 100 for story in STORIES], "text")
    path = compress(tmp_path / f"a.{kind}", ending)
    path.write_bytes(path.read_bytes()[:-9])
    assert f"{path}: " in failure(path)
    path.write_bytes(b"this was never compressed")
    assert f"{path}: " in failure(path)


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 is not enough")
    assert "a.parquet: " in failure(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: Expecting property name"),
        ("[1]", "line 2: a list; wanted one JSON object"),
        ('{"text": 3}', "line 2: column 'text' holds a int"),
    ],
)
def test_a_bad_json_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "Fine."}\n' + line + "\n")
    assert said in failure(tmp_path / "a.jsonl")


@pytest.mark.parametrize(("rows", "said"), [('"open', "line 2: unexpected end"), ("a,b,c", "line 2: 3 cells under 2")])
def test_a_bad_csv_row_is_named(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "a.csv").write_text("text,id\n" + rows + "\n")
    assert said in failure(tmp_path / "a.csv")


@pytest.mark.parametrize("content", ["", "\n\n \n"])
def test_an_empty_corpus_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_text(content)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no text in" in failure(tmp_path / "a.txt")
    with pytest.raises(InputError, match="no text in"):
        list(read_texts([tmp_path]))
    with pytest.raises(InputError, match=r"wanted files ending in .txt"):
        find_files([empty])


def test_a_column_of_nulls_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "Fine."}\n')
    assert sentences(tmp_path / "a.jsonl") == [("Fine.",)]


def test_half_a_character_in_json_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "A \\ud83d\\ude00 or \\ud83d half."}\n')
    assert sentences(tmp_path / "a.jsonl") == [("A 😀 or \ufffd half.",)]
