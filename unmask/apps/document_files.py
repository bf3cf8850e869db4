"""Files that people keep text in -> their text: txt, md, html and pdf with a text layer.

Files and folders come in, a text for each file goes out, or why it has none. Places in a text count its characters:
those of the file in txt and md, those of the text that was taken out of it in html and pdf.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.apps.html_text import html_text
from unmask.errors import InputError
from unmask.text.streams import BYTE_ORDER_MARK, decode

CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
LOOK_AT = 2048  # bytes of a page within which it names its encoding


@dataclass(frozen=True)
class DocumentFile:
    """A file to read, and what people call it."""

    name: str
    path: Path


@dataclass(frozen=True)
class Unread:
    """A file that gave no text, and why."""

    name: str
    why: str


def find_documents(paths: Sequence[Path]) -> list[DocumentFile]:
    """The files named, and those of a known ending in the folders named, in the order of their names; each once.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.txt", "a.md", "photo.png"):
    ...     _ = (folder / name).write_text("Snow.")
    >>> [file.path.name for file in find_documents([folder, folder / "b.txt"])]
    ['a.md', 'b.txt']
    """
    found: dict[Path, DocumentFile] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"no file or folder {path}", wanted="texts to read", do="check the path")
        if path.is_file() and path.suffix.lower() not in READERS:
            raise InputError(str(path), wanted=f"files that end in {_endings()}")
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if not hidden and file.suffix.lower() in READERS and file.is_file():
                found.setdefault(file.resolve(), DocumentFile(str(file), file))
    if not found:
        raise InputError(
            f"no texts in {', '.join(map(str, paths)) or 'nothing'}", wanted=f"files ending in {_endings()}"
        )
    return list(found.values())


def read_document(file: DocumentFile) -> str | Unread:
    """The text of a file, or why it has none."""
    try:
        text = READERS[file.path.suffix.lower()](file.path)
    except OSError as error:
        return Unread(file.name, f"{error.strerror or error}")
    except InputError as error:
        return Unread(file.name, str(error).removeprefix("got ").removeprefix(f"{file.path}: "))
    if "\0" in text:
        return Unread(file.name, "a binary file: it holds NUL characters")
    return text if text.strip() else Unread(file.name, "no text in it")


def _plain(path: Path) -> str:
    content = path.read_bytes()
    start = len(BYTE_ORDER_MARK) if content.startswith(BYTE_ORDER_MARK) else 0
    if b"\0" in content[:LOOK_AT]:
        raise InputError("a binary file: it holds NUL characters")
    return decode(path, start, content[start:])


def _html(path: Path) -> str:
    """A page in the encoding that it names, or in UTF-8."""
    content = path.read_bytes()
    named = CHARSET.search(content[:LOOK_AT])
    if named is None or content.startswith(BYTE_ORDER_MARK):
        return html_text(_plain(path))
    encoding = named[1].decode()
    # Pages that say gb2312 often use characters that only its successor has.
    encoding = "gb18030" if encoding.lower() in ("gb2312", "gbk") else encoding
    try:
        return html_text(content.decode(encoding))
    except (LookupError, UnicodeDecodeError):
        raise InputError(f"a page that is not in the encoding {encoding!r} which it names") from None


def _pdf(path: Path) -> str:
    """The text layer, a blank line between pages."""
    try:
        import pypdf
    except ImportError:
        raise InputError("a pdf, which needs pypdf; pip install 'unmask[documents]'") from None
    try:
        pages = [page.extract_text().strip() for page in pypdf.PdfReader(path).pages]
    except OSError:
        raise
    except Exception as error:  # a damaged file meets pypdf in many ways, and each has its own kind of error
        raise InputError(f"a pdf that cannot be read ({error})") from None
    if not any(pages):
        raise InputError("a pdf without a text layer: pictures of pages, or nothing")
    text = "\n\n".join(filter(None, pages))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # fonts may name half a character


READERS: dict[str, Callable[[Path], str]] = {
    ".txt": _plain,
    ".md": _plain,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
}


def _endings() -> str:
    return ", ".join(READERS)
