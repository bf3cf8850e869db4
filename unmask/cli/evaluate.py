"""The verb `evaluate`: a model and a file of examples in, the score by the measure that fits them out."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.apps import Device, percent_done
from unmask.cli.console import Answer, Console, verb


@verb
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    data: Annotated[
        Path, typer.Option("--data", help="JSON lines: good, bad (minimal pairs), or text, answer (cloze).")
    ],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only this many of each paradigm, for a quick look.")
    ] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="Draw the score of each category here.")] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Measure a model: how often it prefers the grammatical sentence, or finds the missing word."""
    from unmask.apps.judging import judge_pretrained
    from unmask.model.folder import open_model
    from unmask.tasks.bars import draw_bars

    started = time.monotonic()
    opened = open_model(model, device=device, head="masked_words")
    with percent_done(console, "scoring") as report:
        judged = judge_pretrained(opened, data, limit=limit, report=report)
    fields = judged.to_dict() | {"seconds": round(time.monotonic() - started, 3)}
    if picture is not None:
        chance = 0.5 if fields["task"] == "minimal_pairs" else None
        draw_bars(
            judged.categories or {"all": judged.accuracy}, picture, title=f"{model} on {data.name}", chance=chance
        )
        console.note(f"picture: {picture}")
    lines = [f"{fields['task']}: {judged.accuracy:.2%} of {judged.examples:,} right, {fields['seconds']:.0f} s"]
    if "accuracy_at_5" in fields:
        lines.append(f"among the first five: {fields['accuracy_at_5']:.2%}")
    lines += _table("category", judged.categories)
    lines += _table("paradigm", fields.get("paradigms", {}))
    return Answer(fields, "\n".join(lines))


def _table(title: str, shares: Mapping[str, float]) -> list[str]:
    """Lines of a table, its lowest share last."""
    if not shares:
        return []
    width = max(map(len, [title, *shares]))
    rows = sorted(shares.items(), key=lambda row: -row[1])
    return ["", f"{title:<{width}}  right", *(f"{name:<{width}}  {share:6.1%}" for name, share in rows)]
