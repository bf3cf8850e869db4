"""The verbs `search`, `similar`, `cluster`: texts in; those nearest to a query, near pairs, or groups of them out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device, Model, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.search import TextIndex

SHOWN_TEXT = 100  # characters of a text in a line
SHOWN_TEXTS = 3  # of a group, beside its central one
SHOWN_PAIRS = 20
MANY = 500  # texts that take a while

File = Annotated[Path, typer.Argument(metavar="FILE", help="Texts: txt with one a line, csv, tsv, jsonl, parquet.")]
Column = Annotated[str, typer.Option("--column", help="The column of a table that holds the texts.")]
Whiten = Annotated[
    bool | None,
    typer.Option(
        "--whiten/--no-whiten", help="Spread vectors evenly; if neither: unless the model was taught to embed."
    ),
]


@verb
def search(
    source: Annotated[Path, typer.Option("--in", metavar="FILE|INDEX", help="Texts, or an index that -o wrote.")],
    queries: Annotated[list[str] | None, typer.Argument(metavar="QUERY", help="What to look for.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="INDEX", help="Keep the texts' vectors in this folder.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many texts for each query.")] = 10,
    model: Model = "default",
    column: Column = "text",
    whiten: Whiten = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Find the texts that are nearest to a query in meaning."""
    if not queries and output is None:
        raise InputError("no query", wanted="something to look for", do="give it in quotes, or keep an index with -o")
    if source.is_dir():
        from unmask.apps.search import open_search

        index = open_search(source, device=device, threads=console.threads)
    else:
        index = _index(source, column, model, whiten, device, console)
    if output is not None:
        index.save(output)
        console.note(f"{output}: {len(index.texts):,} texts")
    if not queries:
        fields = {"folder": str(output), "texts": len(index.texts), "whitened": index.space.whitening is not None}
        return Answer(fields, f"{output}: {len(index.texts):,} texts")
    found = [index(queries[0], top=top)] if len(queries) == 1 else index.many(queries, top=top)
    told = [one.to_dict() for one in found]
    return Answer(told[0] if len(told) == 1 else {"queries": told}, "\n\n".join(map(_hit_words, told)))


@verb
def similar(
    source: File,
    threshold: Annotated[float, typer.Option("--threshold", min=-1, max=1, help="The least cosine of a pair.")] = 0.8,
    most: Annotated[int, typer.Option("--most", min=1, help="How many pairs, the nearest first.")] = 1000,
    model: Model = "default",
    column: Column = "text",
    whiten: Whiten = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Find pairs of texts in a file that say nearly the same."""
    index = _index(source, column, model, whiten, device, console)
    found = index.similar(threshold, most=most)
    fields = {**found.to_dict(), "texts": len(index.texts), "threshold": threshold}
    lines = [f"{found.count:,} with a cosine of at least {threshold:g}, among the pairs of {len(index.texts):,} texts"]
    for first, second, score in found.pairs[:SHOWN_PAIRS]:
        lines += [f"{score:.3f}  {_short(first.text)}", f"       {_short(second.text)}"]
    if found.count > SHOWN_PAIRS:
        lines.append(f"(the first {SHOWN_PAIRS}; more with --json)")
    return Answer(fields, "\n".join(lines))


@verb
def cluster(
    source: File,
    k: Annotated[int | None, typer.Option("--k", min=1, help="How many groups.")] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=-1, max=1, help="The least mean cosine within a group, instead.")
    ] = None,
    model: Model = "default",
    column: Column = "text",
    whiten: Whiten = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Group the texts of a file; without --k or --threshold, in as many groups as are most distinct."""
    from unmask.apps.clusters import cluster_texts

    index = _index(source, column, model, whiten, device, console)
    found = cluster_texts(index.texts, index.vectors, k=k, threshold=threshold, seed=console.seed)
    lines = []
    for group in found.clusters:
        lines += [f"{len(group.texts):,}  {group.name}  ({group.cohesion:.2f})", f"    {_short(group.central.text)}"]
        lines += [f"    {_short(placed.text)}" for placed in group.texts[1 : 1 + SHOWN_TEXTS]]
    return Answer({**found.to_dict(), "texts": len(index.texts)}, "\n".join(lines))


def _index(source: Path, column: str, model: str, whiten: bool | None, device: str, console: Console) -> "TextIndex":
    from unmask.apps.search import TextIndex, read_placed
    from unmask.apps.vectors import TextVectors

    texts = read_placed(source, column=column)
    encoder = TextVectors(model, device=device, threads=console.threads)
    with percent_done(console, "encoding", shown=len(texts) > MANY) as report:
        return TextIndex.of(texts, encoder, whiten=whiten, report=report or (lambda *_: None))


def _hit_words(told: dict[str, Any]) -> str:
    if "error" in told:
        return f"({told['error']})"
    return "\n".join([told["query"], *(f"  {hit['score']:.3f}  {_short(hit['text'])}" for hit in told["hits"])])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_TEXT else f"{line[: SHOWN_TEXT - 1]}…"
