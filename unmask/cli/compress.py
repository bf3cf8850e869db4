"""The verb `compress`: a model folder in, a smaller and faster one out, with a report of what was lost."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns
from unmask.errors import InputError

UNITS = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


@verb
def compress(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the smaller model.")],
    texts: Annotated[list[Path] | None, typer.Argument(metavar="TEXT", help="More texts of --trim-vocab.")] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Whole numbers of eight bits: a serving folder.")] = False,
    layers: Annotated[int | None, typer.Option("--layers", min=1, help="Keep this many layers.")] = None,
    heads: Annotated[float | None, typer.Option("--heads", help="Keep this share of the attention heads.")] = None,
    neurons: Annotated[
        float | None, typer.Option("--neurons", help="Keep this share of the feed-forward neurons.")
    ] = None,
    distil_to: Annotated[
        str | None,
        typer.Option("--distil-to", metavar="SIZE", help="Teach a student: tiny, mini, …, 6x384, or static vectors."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Examples of the task, or plain text, to weigh, learn and measure on.")
    ] = None,
    dev: Annotated[
        Path | None, typer.Option("--dev", help="Examples to measure on; a tenth of the data if none.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that the files use, such as text=review,label=stars.")
    ] = None,
    trim_vocab: Annotated[
        list[Path] | None,
        typer.Option("--trim-vocab", metavar="TEXT", help="Keep only the pieces that texts need."),
    ] = None,
    target_size: Annotated[
        str | None, typer.Option("--target-size", metavar="SIZE", help="Choose what gives at most this, such as 10MB.")
    ] = None,
    target_speedup: Annotated[
        float | None, typer.Option("--target-speedup", min=1.0, help="Choose what is so many times faster.")
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", min=0.01, help="How often the data is seen.")] = None,
    lr: Annotated[float | None, typer.Option("--lr", min=0.0, help="Peak learning rate of what is learned.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Examples a step.")] = None,
    beside: Annotated[
        list[Path] | None, typer.Option("--beside", metavar="DIR", help="Another folder for the report; repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write the folder however much is lost.")] = False,
    *,
    console: Console,
) -> Answer:
    """Make a model smaller and faster: int8, fewer layers and heads, a taught student, a shorter vocabulary."""
    from unmask.compress.choose import Target
    from unmask.compress.compression import Request
    from unmask.compress.compression import compress as run
    from unmask.compress.recipe import Recipe
    from unmask.compress.report import table

    if texts and not trim_vocab:
        raise InputError(f"{texts[0]} without --trim-vocab", wanted="texts behind --trim-vocab alone")
    target = None
    if target_size is not None or target_speedup is not None:
        _refuse_both(int8=int8, layers=layers, heads=heads, neurons=neurons, distil_to=distil_to)
        target = Target(None if target_size is None else parse_size(target_size), target_speedup)
    form = "int8" if int8 else "model"
    recipe = Recipe((*(trim_vocab or ()), *(texts or ())), layers, heads, neurons, distil_to, form)
    given = {"epochs": epochs, "learning_rate": lr, "batch_size": batch_size}
    changes = {name: value for name, value in given.items() if value is not None}
    request = Request(
        model,
        output,
        recipe,
        target,
        data=data,
        dev=dev,
        columns=parse_columns(columns),
        changes=changes,
        beside=tuple(beside or ()),
        force=force,
        seed=console.seed,
    )
    with console.progress("learning", None, "steps") as bar:
        made = run(
            request, console.note, lambda standing, steps: bar.update(standing.step.number, steps, **_loss(standing))
        )
    lines = [
        f"{output}: {made.recipe}",
        f"{made.bytes_before / 1e6:,.1f} MB, now {made.bytes_after / 1e6:,.1f} MB; {made.speedup:.1f} times as fast",
        *(f"tried {one}" for one in made.tried),
        table(made.variants),
    ]
    return Answer(made.to_dict(), "\n".join(lines))


def parse_size(text: str) -> int:
    """A number of bytes as people write it.

    >>> parse_size("10MB"), parse_size("1.5 MiB")
    (10000000, 1572864)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].lower() not in UNITS:
        raise InputError(f"size {text!r}", wanted="a number of bytes such as 10MB")
    return int(float(found[1]) * UNITS[found[2].lower()])


def _refuse_both(**asked: Any) -> None:
    given = [f"--{name.replace('_', '-')}" for name, value in asked.items() if value]
    if given:
        raise InputError(f"a target and {', '.join(given)}", wanted="one of the two: a target chooses by itself")


def _loss(standing: Any) -> dict[str, str]:
    shown = {"epoch": f"{standing.epoch:.2f}", "loss": f"{standing.step.loss:.3f}"}
    return shown | {name: f"{value:.4f}" for name, value in (standing.scores or {}).items()}
