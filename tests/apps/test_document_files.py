"""Files that hold text, and those that do not: each is named, none stops the others."""

import os
import re
import sys
from pathlib import Path

import pytest

from unmask.apps.document_files import DocumentFile, Unread, find_documents, read_document
from unmask.errors import InputError


def text_of(path: Path) -> str | Unread:
    return read_document(DocumentFile(path.name, path))


def pdf_of(*lines: str) -> bytes:
    """The smallest pdf with a page for each line."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(lines)))
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(lines)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, line in enumerate(lines):
        drawn = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET" if line else ""
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        parts.append(f"<< /Type /Page /Parent 2 0 R {fonts} /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R >>")
        parts.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{part}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(parts) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_folders_give_their_files_by_name_and_each_file_once(tmp_path: Path) -> None:
    for name in ("b.TXT", "a.md", "deep/c.html", ".hidden/d.txt", "e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Snow.")
    found = find_documents([tmp_path / "b.TXT", tmp_path])
    assert [file.path.name for file in found] == ["b.TXT", "a.md", "c.html"]
    assert found[1].name == str(tmp_path / "a.md")


def test_a_hidden_folder_that_is_named_is_read(tmp_path: Path) -> None:
    (tmp_path / ".notes").mkdir()
    (tmp_path / ".notes" / "a.txt").write_text("Snow.")
    assert len(find_documents([tmp_path / ".notes"])) == 1


def test_what_holds_no_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no texts in .*; wanted files ending in .txt"):
        find_documents([tmp_path])
    with pytest.raises(InputError, match=r"no file or folder .*away"):
        find_documents([tmp_path / "away"])
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"a\.png; wanted files that end in"):
        find_documents([tmp_path / "a.png"])


def test_plain_text_is_given_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeff雪。\r\n  Snow.".encode())
    assert text_of(tmp_path / "a.txt") == "雪。\r\n  Snow."


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.txt", b"caf\xe9", r"byte 3 \(0xe9\) is not UTF-8"),
        ("a.txt", b"\x7fELF\x00\x01", "a binary file"),
        ("a.txt", b" \n", "no text"),
        ("a.html", b"<script>1</script>", "no text"),
        ("a.html", b"<meta charset='klingon'>x", "not in the encoding 'klingon'"),
        ("a.pdf", b"%PDF-1.4 torn", "a pdf that cannot be read"),
        ("a.pdf", b"", "a pdf that cannot be read"),
        ("a.pdf", pdf_of(""), "without a text layer"),
    ],
)
def test_a_file_without_text_says_why(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = text_of(tmp_path / name)
    assert isinstance(found, Unread)
    assert found.name == name
    assert re.search(why, found.why)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Snow.")
    (tmp_path / "a.txt").chmod(0)
    assert text_of(tmp_path / "a.txt") == Unread("a.txt", "Permission denied")


def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    assert text_of(tmp_path / "a.txt") == Unread("a.txt", "No such file or directory")


@pytest.mark.parametrize("encoding", ["utf-8", "gb2312", "big5"])
def test_a_page_is_read_in_the_encoding_that_it_names(tmp_path: Path, encoding: str) -> None:
    page = f'<html><head><meta charset="{encoding}"></head><body><p>天下雪</p></body></html>'
    (tmp_path / "a.html").write_bytes(page.encode(encoding))
    assert text_of(tmp_path / "a.html") == "天下雪"


def test_a_pdf_gives_its_text_layer_with_a_blank_line_between_pages(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_of("The lamp is lit.", "", "Snow fell."))
    assert text_of(tmp_path / "a.pdf") == "The lamp is lit.\n\nSnow fell."


def test_a_pdf_without_pypdf_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "a.pdf").write_bytes(pdf_of("The lamp is lit."))
    found = text_of(tmp_path / "a.pdf")
    assert isinstance(found, Unread)
    assert "pip install 'unmask[documents]'" in found.why
