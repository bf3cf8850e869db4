"""The verb `doctor`: text, a store or a run comes in; what is wrong with it, and what to do, go out."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Answer, Console, verb

if TYPE_CHECKING:
    from unmask.lab.finding import Finding


@verb
def doctor(
    paths: Annotated[
        list[Path], typer.Argument(metavar="TEXT…|STORE|RUN", help="Text files or folders, a prepared store, or a run.")
    ],
    store: Annotated[
        Path | None, typer.Option("--store", help="A run's store, if it was made elsewhere than in its folder.")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", help="Where a table has its text.")] = None,
    *,
    console: Console,
) -> Answer:
    """Say what is wrong with a corpus or a pretraining run, and what to do about it."""
    first = paths[0]
    if len(paths) == 1 and (first / "run.jsonl").is_file():
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
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, float):
        return f"{value:,.4g}" if value < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
