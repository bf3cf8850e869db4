"""The verb `ask`: a question and documents in, the span of them that answers it out, or that they do not say."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.apps import Device, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.answer import Found
    from unmask.apps.documents import Documents

SHOWN = 5  # candidates
LONG_READ = 20_000  # characters that take a while


@verb
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help='For instance "Who lit the lamp?"')],
    documents: Annotated[
        list[Path],
        typer.Option("--in", metavar="FILE|FOLDER|INDEX...", help="txt, md, html or pdf; or an index of them."),
    ],
    more: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="More files of --in.")] = None,
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="MODEL", help="What reads; default:answers if not given.")
    ] = None,
    passages: Annotated[
        int, typer.Option("--passages", min=1, help="Passages to read: those that fit the question best.")
    ] = 10,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Find the answer to a question in documents."""
    if not question.strip():
        raise InputError("an empty question", wanted="a question")
    opened = _open([*documents, *(more or [])], model, device, console)
    read = opened.index.passages[:passages]  # as many as are read, whichever they are
    with percent_done(console, "reading", shown=sum(len(passage.text) for passage in read) > LONG_READ) as report:
        found = opened(question, top=passages, report=report or (lambda *_: None))
    return Answer(found.to_dict(), _words(found))


def _open(paths: Sequence[Path], reader: str | None, device: str, console: Console) -> "Documents":
    """An index that was made before, or files indexed by their words on the spot."""
    from unmask.apps.answer import AnswerFinder
    from unmask.apps.app_folder import read_app
    from unmask.apps.document_index import Source, indexed
    from unmask.apps.documents import READER, Documents, open_documents

    if any(read_app(path, "documents") for path in paths):
        if len(paths) > 1:
            raise InputError("an index among other documents", wanted="one index, or files and folders")
        return open_documents(paths[0], reader, device=device, threads=console.threads)
    index, changes = indexed([Source.of(path) for path in paths])
    for file in changes.unread:
        console.note(f"not read: {file.name}: {file.why}")
    return Documents(index, AnswerFinder.open(reader or READER, device=device, threads=console.threads))


def _words(found: "Found") -> str:
    told = found.answered
    lines = [f"{'(not in these documents)' if found.answer is None else found.answer}  ({told.score:.3f})"]
    if found.answer is not None:
        lines.append(f"  {' '.join(found.sentences[0].split())}")
    for span, source in zip(told.nbest[:SHOWN], found.sources, strict=False):
        lines.append(f"  {span.score:.3f}  {source}, characters {span.start:,}–{span.end:,}: {span.answer}")
    return "\n".join(lines)
