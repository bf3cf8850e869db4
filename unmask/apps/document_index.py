"""Documents by their passages, ready to be searched: files in, a folder with their words and vectors out.

An update reads only files whose hash has changed, and gives vectors only to passages that had none. The folder changes
as a whole: whatever happens in the middle, the old index opens or the new one.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps.answer import Passage
from unmask.apps.app_folder import read_whole, write_app
from unmask.apps.document_files import DocumentFile, Unread, find_documents, read_document
from unmask.apps.passages import passage_spans
from unmask.apps.spaces import Report, TextSpace, load_vectors
from unmask.data.json_lines import read_json_lines
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.files import sha256
from unmask.retrieve.lexical import Lexical

KIND = "documents"
FILES, PASSAGES, VECTORS, WORDS = "files.jsonl", "passages.jsonl", "vectors.npy", "words.npz"


@dataclass(frozen=True)
class Source:
    """A file or folder that documents are taken from."""

    given: str  # as it was written; files are called by it
    path: str  # where that is, whatever the working directory

    @classmethod
    def of(cls, path: Path) -> "Source":
        """A source as it is given now."""
        return cls(str(path), str(path.resolve()))


@dataclass(frozen=True)
class IndexedFile:
    """A file whose passages are in the index."""

    name: str
    sha256: str
    passages: int  # how many


@dataclass(frozen=True, eq=False)
class DocumentIndex:
    """The passages of documents, in the order of their files."""

    sources: tuple[Source, ...]
    files: tuple[IndexedFile, ...]
    passages: tuple[Passage, ...]
    lexical: Lexical
    vectors: Floats | None = None  # (passages, D); none: they are found by their words alone
    space: TextSpace | None = None  # what the vectors are of

    def save(self, folder: Path, **fields: Any) -> None:
        """Writes the index's folder, as a whole; `fields` are further things that it shall say."""
        about = {
            **(self.space.fields(folder) if self.space else {"encoder": None, "encoder_identity": None}),
            "sources": [asdict(source) for source in self.sources],
            "files": len(self.files),
            "passages": len(self.passages),
            **fields,
        }
        numbers = {file.name: number for number, file in enumerate(self.files)}
        with write_app(folder, KIND, about) as temporary:
            _write_lines(temporary / FILES, map(asdict, self.files))
            rows = ({"file": numbers[str(p.source)], "start": p.start, "text": p.text} for p in self.passages)
            _write_lines(temporary / PASSAGES, rows)
            self.lexical.save(temporary / WORDS)
            if self.vectors is not None:
                np.save(temporary / VECTORS, self.vectors)


@dataclass(frozen=True)
class Changes:
    """What an update has found."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unread: tuple[Unread, ...]
    embedded: int  # passages that were given a vector

    @property
    def none(self) -> bool:
        """Whether the documents are as they were."""
        return not (self.added or self.changed or self.removed)


def open_index(
    folder: Path, *, device: str = "cpu", threads: int | None = None
) -> tuple[DocumentIndex, dict[str, Any]]:
    """The index of a folder and all that the folder says of itself; an encoder that has changed since is refused."""

    def read(fields: dict[str, Any]) -> tuple[DocumentIndex, dict[str, Any]]:
        files, passages = _read_passages(folder)
        lexical = Lexical.load(folder / WORDS)
        if not len(passages) == lexical.count == fields["passages"] == sum(file.passages for file in files):
            raise _damaged(folder)
        space = TextSpace.open(folder, fields, device=device, threads=threads) if fields["encoder"] else None
        vectors = load_vectors(folder / VECTORS, len(passages)) if space else None
        sources = tuple(Source(**source) for source in fields["sources"])
        return DocumentIndex(sources, files, passages, lexical, vectors, space), fields

    return read_whole(folder, KIND, read)


def _read_passages(folder: Path) -> tuple[tuple[IndexedFile, ...], tuple[Passage, ...]]:
    rows = (row for _, row in read_json_lines(folder / PASSAGES))
    try:
        files = tuple(IndexedFile(**row) for _, row in read_json_lines(folder / FILES))
        return files, tuple(Passage(row["text"], files[row["file"]].name, row["start"]) for row in rows)
    except (KeyError, IndexError, TypeError) as error:
        raise _damaged(folder) from error


def _damaged(folder: Path) -> InputError:
    return InputError(f"{folder}, which is damaged", wanted="a whole index", do="index the documents again")


def indexed(
    sources: Sequence[Source],
    space: TextSpace | None = None,
    *,
    before: DocumentIndex | None = None,
    report: Report = lambda *_: None,
) -> tuple[DocumentIndex, Changes]:
    """The index of all documents of some sources, and what has changed since the one before.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.txt").write_text("The keeper lit the lamp.")
    >>> index, changes = indexed([Source.of(folder)])
    >>> index.passages[0].text, len(changes.added)
    ('The keeper lit the lamp.', 1)
    """
    known = _by_file(before)
    files: list[IndexedFile] = []
    passages: list[Passage] = []
    unread: list[Unread] = []
    for file in _documents_of(sources, known):
        read = _read(file, known)
        if isinstance(read, Unread):
            unread.append(read)
        else:
            files.append(read[0])
            passages += read[1]
    if not files:
        raise InputError("; ".join(f"{file.name}: {file.why}" for file in unread[:3]), wanted="at least one text")
    vectors, embedded = _vectors(passages, space, before, report)
    lexical = Lexical.of(passage.text for passage in passages)
    index = DocumentIndex(tuple(sources), tuple(files), tuple(passages), lexical, vectors, space)
    return index, _changes(before, files, unread, embedded)


def _documents_of(sources: Sequence[Source], known: dict[str, Any]) -> list[DocumentFile]:
    """The files of sources, called as the sources were written; a file that was there and is gone is no error."""
    there = [source for source in sources if Path(source.path).exists()]
    for source in sources:
        if source not in there and source.given not in known:
            raise InputError(f"no file or folder {source.given}", wanted="documents to read", do="check the path")
    if not there:
        raise InputError("documents that are all gone", wanted="at least one text", do="index others")
    found = []
    for file in find_documents([Path(source.path) for source in there]):
        source = next(source for source in there if file.path.is_relative_to(source.path))
        found.append(DocumentFile(str(Path(source.given) / file.path.relative_to(source.path)), file.path))
    return found


def _read(
    file: DocumentFile, known: dict[str, tuple[IndexedFile, list[Passage]]]
) -> tuple[IndexedFile, list[Passage]] | Unread:
    """A file and its passages: those known if its bytes are the same."""
    try:
        digest = sha256(file.path)  # before reading: should it change meanwhile, the next update reads it again
    except OSError as error:
        return Unread(file.name, error.strerror or str(error))
    if file.name in known and known[file.name][0].sha256 == digest:
        return known[file.name]
    text = read_document(file)
    if isinstance(text, Unread):
        return text
    passages = [Passage(text[start:stop], file.name, start) for start, stop in passage_spans(text)]
    return IndexedFile(file.name, digest, len(passages)), passages


def _by_file(index: DocumentIndex | None) -> dict[str, tuple[IndexedFile, list[Passage]]]:
    """The files of an index by name, each with its passages."""
    found: dict[str, tuple[IndexedFile, list[Passage]]] = {}
    start = 0
    for file in index.files if index else ():
        assert index is not None
        found[file.name] = file, list(index.passages[start : start + file.passages])
        start += file.passages
    return found


def _vectors(
    passages: Sequence[Passage], space: TextSpace | None, before: DocumentIndex | None, report: Report
) -> tuple[Floats | None, int]:
    """A vector for each passage, the old one where there is one, and how many are new."""
    if space is None:
        return None, 0
    old = np.empty((0, space.encoder.width), np.float32)
    rows: dict[str, int] = {}
    if before is not None and before.vectors is not None:
        old, rows = before.vectors, {passage.text: row for row, passage in enumerate(before.passages)}
    fresh = list(dict.fromkeys(passage.text for passage in passages if passage.text not in rows))
    rows |= {text: len(old) + number for number, text in enumerate(fresh)}
    every = np.concatenate([old, space(fresh, report=report)])
    return every[[rows[passage.text] for passage in passages]], len(fresh)


def _changes(
    before: DocumentIndex | None, files: Sequence[IndexedFile], unread: Sequence[Unread], embedded: int
) -> Changes:
    old = {file.name: file.sha256 for file in before.files} if before else {}
    now = {file.name: file.sha256 for file in files}
    return Changes(
        added=tuple(name for name in now if name not in old),
        changed=tuple(name for name in now if name in old and now[name] != old[name]),
        removed=tuple(name for name in old if name not in now),
        unread=tuple(unread),
        embedded=embedded,
    )


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
