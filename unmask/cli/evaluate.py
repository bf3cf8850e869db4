"""The verb `evaluate`: a model and a file of examples in, the score by the measure that fits them out."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.apps import Device, Precision, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns, parse_pairs
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.predict import Predictor

TASK_HEADS = (
    "classes",
    "regression",
    "tokens",
    "tags_crf",
    "span",
    "choice",
    "embedding",
)  # heads that were fine-tuned


@verb
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            help="Labelled examples of the task (sst2=FOLDER is read as that set is); of a pretrained model JSON lines "
            "with good, bad (minimal pairs) or text, answer (cloze).",
        ),
    ],
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that the file uses, such as text=review,label=stars.")
    ] = None,
    rename: Annotated[
        str | None, typer.Option("--rename", help="Labels of the file as the model names them: 0=negative,1=positive.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only this many of each paradigm, for a quick look.")
    ] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="Draw the score of each category here.")] = None,
    device: Device = "cpu",
    precision: Precision = "float32",
    *,
    console: Console,
) -> Answer:
    """Measure a model: a fine-tuned one by its task's official figures, a pretrained one by minimal pairs or gaps."""
    from unmask.apps.predict import Predictor, open_any

    started = time.monotonic()
    names = parse_pairs(rename, "--rename", "0=negative,1=positive")
    opened = open_any(model, device=device, threads=console.threads)
    if opened.about.head in TASK_HEADS:
        predictor = Predictor.of(opened, model, precision=precision)
        return _evaluate_task(predictor, data, parse_columns(columns), names, console, started)

    from unmask.apps.judging import judge_pretrained

    opened = open_any(model, device=device, head="masked_words", threads=console.threads)
    with percent_done(console, "scoring") as report:
        judged = judge_pretrained(opened, data, limit=limit, precision=precision, report=report)
    fields = judged.to_dict() | {"seconds": round(time.monotonic() - started, 3)}
    if picture is not None:
        from unmask.tasks.bars import draw_bars

        chance = 0.5 if fields["task"] == "minimal_pairs" else None
        draw_bars(
            judged.categories or {"all": judged.accuracy}, picture, title=f"{model} on {data.name}", chance=chance
        )
        console.note(f"picture: {picture}")
    lines = [f"{fields['task']}: {judged.accuracy:.2%} of {judged.examples:,} right, {fields['seconds']:.0f} s"]
    if "accuracy_at_5" in fields:
        lines.append(f"among the first five: {fields['accuracy_at_5']:.2%}")
    if "category_mean" in fields:
        lines.append(f"mean of {len(judged.categories)} categories: {fields['category_mean']:.2%}")
    lines += _table("category", judged.categories)
    lines += _table("paradigm", fields.get("paradigms", {}))
    return Answer(fields, "\n".join(lines))


def _evaluate_task(
    predictor: "Predictor", data: Path, columns: dict[str, str], names: dict[str, str], console: Console, started: float
) -> Answer:
    from unmask.tasks.sources import find_sources, measured_as, read_parts, renamed

    (source,) = find_sources(predictor.asked, [data])
    parts = read_parts([source], "dev", columns=columns, note=console.note)
    if not parts:
        raise InputError(f"{data} without a dev file", wanted="labelled examples", do="name the file with --data")
    reading = renamed(parts[0].reading, names)
    predictor = replace(predictor, task=measured_as(predictor.task, source))
    with percent_done(console, "answering") as report:
        scores = predictor.evaluate(reading, report=report or (lambda *_: None))
    console.note(f"engine: {predictor.engine}")
    metric = predictor.task.metric
    fields = {
        "task": predictor.asked.name,
        "metric": metric,
        "score": scores[metric],
        "scores": scores,
        "examples": len(reading.examples),
        "seconds": round(time.monotonic() - started, 3),
    }
    lines = [f"{metric} {scores[metric]:.4f} on {len(reading.examples):,} examples, {fields['seconds']:.0f} s"]
    lines += [f"{name} {value:.4f}" for name, value in scores.items() if name != metric]
    return Answer(fields, "\n".join(lines))


def _table(title: str, shares: Mapping[str, float]) -> list[str]:
    """Lines of a table, its lowest share last."""
    if not shares:
        return []
    width = max(map(len, [title, *shares]))
    rows = sorted(shares.items(), key=lambda row: -row[1])
    return ["", f"{title:<{width}}  right", *(f"{name:<{width}}  {share:6.1%}" for name, share in rows)]
