"""The verb `doctor`: text, a store, a run or labelled examples come in; what is wrong, and what to do, go out."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns

if TYPE_CHECKING:
    from unmask.lab.finding import Finding


@verb
def doctor(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="TEXT…|STORE|RUN|TRAIN",
            help="Text files or folders, a prepared store, a run; with --task or --dev labelled examples.",
        ),
    ],
    dev: Annotated[
        list[Path] | None, typer.Option("--dev", help="Labelled examples to measure on: what do they share with TRAIN?")
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="What the examples are for: classify, tag …, or a preset such as sst2.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that labelled files use: text=review,label=stars.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="A run's store, if it was made elsewhere than in its folder.")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", help="Where a table has its text.")] = None,
    *,
    console: Console,
) -> Answer:
    """Say what is wrong with a corpus, a pretraining run or labelled examples, and what to do about it."""
    first = paths[0]
    if dev or task:
        findings, figures = _labelled(paths, dev or [], task or "classify", parse_columns(columns), console)
    elif len(paths) == 1 and (first / "run.jsonl").is_file():
        findings, figures = _run(first, store)
    elif len(paths) == 1 and (first / "store.json").is_file():
        findings, figures = _store(first)
    else:
        findings, figures = _text(paths, column, console)
    return _answer(findings, figures)


Diagnosis = tuple["list[Finding]", dict[str, Any]]


def _run(folder: Path, store: Path | None) -> Diagnosis:
    from unmask.lab.doctor import diagnose_run, read_run, run_fields

    run = read_run(folder, store)
    return list(diagnose_run(run)), run_fields(run)


def _store(folder: Path) -> Diagnosis:
    from unmask.data.store import Store
    from unmask.lab.corpus_doctor import diagnose_store, measure_store

    figures = measure_store(Store.open(folder))
    return list(diagnose_store(figures)), figures.to_dict()


def _text(paths: Sequence[Path], column: str | None, console: Console) -> Diagnosis:
    from unmask.lab.corpus_doctor import diagnose_text, text_fields
    from unmask.lab.text_figures import measure_text

    with console.progress("reading", unit="bytes") as progress:
        figures = measure_text(paths, column=column, on_progress=progress.update)
    return list(diagnose_text(figures)), text_fields(figures)


def _labelled(
    train: Sequence[Path], dev: Sequence[Path], task: str, columns: dict[str, str], console: Console
) -> Diagnosis:
    from unmask.data.overview import overview
    from unmask.lab.labelled_doctor import diagnose_labelled
    from unmask.tasks.asked import asked
    from unmask.tasks.sources import find_sources, joined, read_parts

    own = asked(task)
    sources = find_sources(own, train)
    learned = joined(read_parts(sources, "train", columns=columns, note=console.note)).examples
    measured = find_sources(own, dev) or [source for source in sources if source.path.is_dir()]
    found = overview(
        learned, joined(read_parts(measured, "dev", columns=columns, note=console.note)).examples if measured else ()
    )
    return list(diagnose_labelled(found)), found.to_dict()


def _answer(findings: "Sequence[Finding]", figures: dict[str, Any]) -> Answer:
    from unmask.lab.finding import by_severity, in_words

    found = [asdict(finding) for finding in by_severity(findings)]
    lines = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in figures.items() if value not in (None, {})]
    fields = {"findings": found, "healthy": not found, **figures}
    return Answer(fields, "\n".join([*lines, in_words(findings)]))


def _shown(value: Any) -> str:
    """A figure for people.

    >>> _shown(1234567), _shown(0.12346), _shown({"Latin": 0.75, "Han": 0.25})
    ('1,234,567', '0.1235', 'Latin 0.75, Han 0.25')
    """
    if isinstance(value, list | tuple):
        return f"{len(value):,}"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, float):
        return f"{value:,.4g}" if value < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
