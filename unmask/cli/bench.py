"""The verb `bench`: this machine's figures, measured in turns with another library's where one is named."""

from collections.abc import Callable
from dataclasses import dataclass, replace
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
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="start: a fresh process to its first answer; pretrain: steps.")
    ],
    against: Annotated[Rival | None, typer.Option("--against", help="Measure this library too, in turns.")] = None,
    size: Annotated[str, typer.Option("--size", help="The size of model to measure with.")] = "base",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often; the answer is the median.")] = 5,
    text: Annotated[Path | None, typer.Option("--text", help="To pretrain on; Python's documentation if none.")] = None,
    dropout: Annotated[float, typer.Option("--dropout", min=0.0, max=0.9, help="While pretraining, both sides.")] = 0.1,
    *,
    console: Console,
) -> Answer:
    """Measure this machine: ours, theirs and the ratio ours / theirs."""
    if what not in WHAT:
        raise InputError(f"bench {what}", wanted=" or ".join(WHAT), do="choose one of them")
    return WHAT[what](Bench(against is Rival.transformers, size, rounds, text, dropout), console)


@dataclass(frozen=True)
class Bench:
    """What was asked for."""

    against_transformers: bool
    size: str
    rounds: int
    text: Path | None
    dropout: float


def _start(asked: Bench, console: Console) -> Answer:
    from unmask.lab.bench_start import make_folder, measure_starts

    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / asked.size
        console.note(f"making a {asked.size} model with random weights")
        make_folder(folder, asked.size)
        console.note(f"{asked.rounds + 1} rounds of fresh processes, the first not counted")
        starts = measure_starts(folder, rounds=asked.rounds, against_transformers=asked.against_transformers)
    fields = starts.to_dict() | {"size": asked.size}
    cpu = fields["cpu_seconds"]
    lines = [
        f"unmask --help   {fields['help']:.2f} s, {cpu['help']:.2f} s of the processor",
        f"unmask fill     {fields['ours']:.2f} s, {cpu['ours']:.2f} s of the processor",
    ]
    if fields["theirs"] is not None:
        lines.append(f"transformers    {fields['theirs']:.2f} s, {cpu['theirs']:.2f} s of the processor")
        lines.append(f"ours / theirs   {fields['ratio']:.2f}")
    return Answer(fields, "\n".join(lines))


def _pretrain(asked: Bench, console: Console) -> Answer:
    from unmask.lab.bench_pretrain import make_trial, measure_memory, measure_pretraining

    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        console.note("preparing text")
        trial = make_trial(asked.size, asked.dropout, asked.text, folder)
        console.note(f"{asked.rounds + 1} rounds of steps in turns, the first not counted")
        speeds = measure_pretraining(trial, rounds=asked.rounds, against_transformers=asked.against_transformers)
        if asked.against_transformers:
            console.note("memory of a step, each side in a process of its own")
            ours, theirs = (
                measure_memory(side, asked.size, asked.dropout, asked.text, folder) for side in ("ours", "theirs")
            )
            speeds = replace(speeds, our_memory=ours, their_memory=theirs)
    fields = speeds.to_dict()
    lines = [f"ours {fields['ours']:,.0f} pieces a second"]
    if fields["theirs"] is not None:
        lines.append(f"transformers {fields['theirs']:,.0f} pieces a second; ours / theirs {fields['ratio']:.2f}")
        memory = f"{fields['our_memory'] / 1e6:,.0f} MB against {fields['their_memory'] / 1e6:,.0f} MB"
        lines.append(f"memory of a step {memory}: {fields['memory_ratio']:.2f}")
    return Answer(fields, "\n".join(lines))


WHAT: dict[str, Callable[[Bench, Console], Answer]] = {"start": _start, "pretrain": _pretrain}
