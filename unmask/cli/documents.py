"""The verbs of `documents`: files and folders in, an index of their passages out, to be asked by `unmask ask --in`."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.document_index import Changes, DocumentIndex, Source
    from unmask.apps.spaces import TextSpace

Paths = Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER", help="txt, md, html and pdf files.")]
Folder = Annotated[Path, typer.Argument(metavar="INDEX", help="An index, as `unmask documents index` makes it.")]


@verb
def index(
    paths: Paths,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The index's folder.")],
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", metavar="MODEL", help="An embedding model, to find passages by meaning too."),
    ] = None,
    reader: Annotated[
        str | None, typer.Option("--reader", metavar="MODEL", help="What reads answers, unless `ask` names another.")
    ] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Index documents, to be asked questions."""
    from unmask.apps.app_folder import lasting_name
    from unmask.apps.document_index import Source
    from unmask.apps.spaces import TextSpace
    from unmask.apps.vectors import TextVectors

    started = time.monotonic()
    space = TextSpace(TextVectors(model, device=device, threads=console.threads)) if model else None
    if space is not None and not space.encoder.taught:
        console.note(f"note: {model} was never taught to embed: passages are found by words first, as without it")
    made, changes = _indexed([Source.of(path) for path in paths], space, None, console)
    made.save(output, reader=reader and lasting_name(reader))
    return _answer(output, made, changes, started)


@verb
def update(
    folder: Folder,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE|FOLDER", help="More documents to take in.")
    ] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Bring an index up to date: files that were added, changed or removed since."""
    from unmask.apps.document_index import Source, open_index

    started = time.monotonic()
    before, fields = open_index(folder, device=device, threads=console.threads)
    more = [Source.of(path) for path in paths or []]
    sources = list(dict.fromkeys([*before.sources, *more]))
    made, changes = _indexed(sources, before.space, before, console)
    if not changes.none or made.sources != before.sources:
        made.save(folder, reader=fields.get("reader"))
    return _answer(folder, made, changes, started)


@verb
def text(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A txt, md, html or pdf file.")], *, console: Console
) -> Answer:
    """Print the text that is taken out of a file, in whose characters answers are counted."""
    from unmask.apps.document_files import Unread, find_documents, read_document

    found = [read_document(document) for document in find_documents([file])]
    if len(found) > 1:
        raise InputError(f"{file}, a folder", wanted="one file")
    if isinstance(found[0], Unread):
        raise InputError(f"{file}: {found[0].why}")
    console.note(f"{len(found[0]):,} characters")
    return Answer({"file": str(file), "text": found[0]}, found[0])


def _indexed(
    sources: "Sequence[Source]", space: "TextSpace | None", before: "DocumentIndex | None", console: Console
) -> "tuple[DocumentIndex, Changes]":
    from unmask.apps.document_index import indexed

    with percent_done(console, "encoding", shown=space is not None) as report:
        made, changes = indexed(sources, space, before=before, report=report or (lambda *_: None))
    for file in changes.unread:
        console.note(f"not read: {file.name}: {file.why}")
    return made, changes


def _answer(folder: Path, made: "DocumentIndex", changes: "Changes", started: float) -> Answer:
    fields: dict[str, Any] = {
        "folder": str(folder),
        "files": len(made.files),
        "passages": len(made.passages),
        "added": list(changes.added),
        "changed": list(changes.changed),
        "removed": list(changes.removed),
        "unread": [{"file": file.name, "why": file.why} for file in changes.unread],
        "embedded": changes.embedded,
        "seconds": round(time.monotonic() - started, 3),
    }
    counts = ", ".join(f"{len(fields[name]):,} {name}" for name in ("added", "changed", "removed", "unread"))
    words = f"{folder}: {len(made.files):,} files, {len(made.passages):,} passages; {counts}"
    return Answer(fields, f"{words}\nunmask ask QUESTION --in {folder}")
