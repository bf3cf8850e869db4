"""The verb `export`: a model folder in, a serving folder out that answers without torch."""

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.console import Answer, Console, verb


@verb
def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The serving folder to write.")],
    portable: Annotated[
        bool, typer.Option("--portable", help="Standard operators only, for other runtimes than onnxruntime.")
    ] = False,
    *,
    console: Console,
) -> Answer:
    """Write a folder that answers without torch: ONNX, tokenizer, labels and checksums."""
    from unmask.compress.export import export as write
    from unmask.model.folder import open_model

    opened = open_model(model)
    console.note("writing the graph and comparing it with torch")
    exported = write(opened, output, portable=portable)
    fields = {"folder": str(output), "bytes": exported.bytes, "max_difference": exported.max_difference}
    size = f"{exported.bytes / 1e6:,.1f} MB"
    return Answer(fields, f"{output}: {size}, at most {exported.max_difference:.1g} away from torch")
