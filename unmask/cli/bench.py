"""The verb `bench`: this machine's figures, measured in turns with another library's where one is named."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError


class Rival(StrEnum):
    """Whom to measure against."""

    transformers = "transformers"


@verb
def bench(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="start: from a fresh process to the first answer.")],
    against: Annotated[Rival | None, typer.Option("--against", help="Measure this library too, in turns.")] = None,
    size: Annotated[str, typer.Option("--size", help="The size of model to measure with.")] = "base",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often; the answer is the median.")] = 5,
    *,
    console: Console,
) -> Answer:
    """Measure this machine: ours, theirs and the ratio ours / theirs."""
    if what not in WHAT:
        raise InputError(f"bench {what}", wanted=" or ".join(WHAT), do="choose one of them")
    return WHAT[what](against, size, rounds, console)


def _start(against: Rival | None, size: str, rounds: int, console: Console) -> Answer:
    from unmask.lab.bench_start import make_folder, measure_starts

    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / size
        console.note(f"making a {size} model with random weights")
        make_folder(folder, size)
        console.note(f"{rounds + 1} rounds of fresh processes, the first not counted")
        starts = measure_starts(folder, rounds=rounds, against_transformers=against is Rival.transformers)
    fields = starts.to_dict() | {"size": size}
    cpu = fields["cpu_seconds"]
    lines = [
        f"unmask --help   {fields['help']:.2f} s, {cpu['help']:.2f} s of the processor",
        f"unmask fill     {fields['ours']:.2f} s, {cpu['ours']:.2f} s of the processor",
    ]
    if fields["theirs"] is not None:
        lines.append(f"transformers    {fields['theirs']:.2f} s, {cpu['theirs']:.2f} s of the processor")
        lines.append(f"ours / theirs   {fields['ratio']:.2f}")
    return Answer(fields, "\n".join(lines))


WHAT: dict[str, Callable[[Rival | None, str, int, Console], Answer]] = {"start": _start}
