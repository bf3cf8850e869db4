"""The verb `prepare`: text files and a vocabulary come in; a token store, and what it holds, go out."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.console import Answer, Console, verb

if TYPE_CHECKING:
    from unmask.data.prepare import PrepareReport
    from unmask.text.tokenizer import Tokenizer


class LineKind(StrEnum):
    """What the lines of a document hold."""

    auto = "auto"
    sentences = "sentences"
    wrapped = "wrapped"


@verb
def prepare(
    texts: Annotated[
        list[Path], typer.Argument(metavar="TEXT", help="Files or folders: txt, jsonl, csv, tsv, parquet; .gz, .zst.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The store's folder; interrupted work continues.")],
    vocabulary: Annotated[
        Path, typer.Option("--vocab", metavar="VOCAB", help="A vocabulary file, or a model folder with its tokenizer.")
    ],
    cased: Annotated[
        bool | None, typer.Option("--cased/--uncased", help="For a file; cased if it has capitals, unless given.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="Where a table has its text.", show_default="text")
    ] = None,
    lines: Annotated[
        LineKind, typer.Option("--lines", help="Whole sentences, or parts of wrapped paragraphs; seen by itself.")
    ] = LineKind.auto,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave out sentences and documents that occurred before.")
    ] = False,
    shard_size: Annotated[
        int | None,
        typer.Option("--shard-size", min=1, metavar="MB", help="Text in a shard.", show_default="8 or more"),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option("--ray", metavar="ADDRESS", help="Work on the Ray cluster there, or on auto (extra ray)."),
    ] = None,
    *,
    console: Console,
) -> Answer:
    """Turn text into a store of tokens, once, to pretrain on it any number of times."""
    from unmask.data import prepare as work

    with console.progress("preparing", total=100, unit="%") as progress:
        report = work.prepare(
            texts,
            output,
            _tokenizer(vocabulary, cased),
            column=column,
            lines=lines.value,
            shard_bytes=shard_size and shard_size << 20,
            drop_duplicates=drop_duplicates,
            threads=console.threads,
            ray=ray,
            on_progress=lambda done, total: progress.update(100 * done / total, bytes=f"{done:,}"),
        )
    if report.reused:
        console.note(f"{output} is up to date: same text, same vocabulary")
    return Answer({**asdict(report), "seconds": round(report.seconds, 3)}, _in_words(output, report, drop_duplicates))


def _tokenizer(vocabulary: Path, cased: bool | None) -> "Tokenizer":
    from unmask.text.tokenizer import Tokenizer
    from unmask.text.vocabulary import has_capitals, read_vocabulary

    if vocabulary.is_dir():
        return Tokenizer.load(vocabulary)
    pieces = read_vocabulary(vocabulary)
    return Tokenizer(pieces, cased=has_capitals(pieces) if cased is None else cased)


def _in_words(output: Path, report: "PrepareReport", dropped: bool) -> str:
    lines = [
        f"{output}: {report.documents:,} documents, {report.sentences:,} sentences, {report.tokens:,} tokens "
        f"from {report.bytes:,} bytes of text in {report.seconds:.1f} s"
    ]
    if report.duplicate_sentences:
        done = "dropped" if dropped else "kept (--drop-duplicates leaves them out)"
        found = f"{report.duplicate_documents:,} documents and {report.duplicate_sentences:,} sentences"
        lines.append(f"occurred before: {found}, {done}")
    if report.short_documents:
        lines.append(f"of one sentence only: {report.short_documents:,} documents, from which no pair can be drawn")
    return "\n".join(lines)
