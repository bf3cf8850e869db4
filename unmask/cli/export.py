"""The verb `export`: a model folder in, a serving folder out that answers without torch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder


@verb
def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The serving folder to write.")],
    int8: Annotated[bool, typer.Option("--int8", help="Whole numbers of eight bits: a quarter of the size.")] = False,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="With --int8: ranges found on --data, and fixed.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Labelled examples that say what int8 costs, and calibrate it.")
    ] = None,
    portable: Annotated[
        bool, typer.Option("--portable", help="Standard operators only, for other runtimes than onnxruntime.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write it even if int8 loses more than half a point.")] = False,
    *,
    console: Console,
) -> Answer:
    """Write a folder that answers without torch: ONNX, tokenizer, labels and checksums."""
    if calibrated and (data is None or not int8):
        raise InputError("--calibrated alone", wanted="--int8 and examples to find ranges on, --data")
    from unmask.model.folder import open_model

    opened = open_model(model)
    if not int8:
        return _whole(opened, output, portable, console)
    examples = _examples(opened, model, data) if data is not None else ()
    return _int8(opened, output, console, examples=examples, calibrated=calibrated, portable=portable, force=force)


def _whole(opened: "ModelFolder", output: Path, portable: bool, console: Console) -> Answer:
    from unmask.compress.export import export as write

    console.note("writing the graph and comparing it with torch")
    exported = write(opened, output, portable=portable)
    fields = {"folder": str(output), "bytes": exported.bytes, "max_difference": exported.max_difference}
    size = f"{exported.bytes / 1e6:,.1f} MB"
    return Answer(fields, f"{output}: {size}, at most {exported.max_difference:.1g} away from torch")


def _int8(opened: "ModelFolder", output: Path, console: Console, **options: Any) -> Answer:
    from unmask.compress.quantize import quantize

    console.note("rounding to int8 and comparing it with float32")
    made = quantize(opened, output, **options)
    fields = {
        "folder": str(output),
        "bytes": made.bytes_after,
        "max_difference": made.max_difference,
        "bytes_before": made.bytes_before,
        "kept": list(made.kept),
        "metric": made.metric,
        "score_before": made.score_before,
        "score_after": made.score_after,
    }
    words = [f"{output}: {made.bytes_after / 1e6:,.1f} MB of {made.bytes_before / 1e6:,.1f} MB"]
    words.append(f"outputs at most {made.max_difference:.2g} away from torch")
    if made.score_before is not None:
        words.append(f"{made.metric} {made.score_after:.4f}, in float32 {made.score_before:.4f}")
    if made.kept:
        words.append(f"{len(made.kept)} linear layers stay in float32: {', '.join(made.kept)}")
    return Answer(fields, "\n".join(words))


def _examples(opened: "ModelFolder", model: str, data: Path) -> tuple[Any, ...]:
    from unmask.apps.predict import Predictor

    reading = Predictor.of_model(opened, model).asked.read(data, "dev")
    if reading is None:
        raise InputError(f"{data} without a dev file", wanted="labelled examples", do="name the file with --data")
    return reading.examples
