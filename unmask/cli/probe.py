"""The verb `probe`: what each layer of a model knows of words and sentences, and what it would say at a mask."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device
from unmask.cli.console import Answer, Console, verb

if TYPE_CHECKING:
    from unmask.explain.layer_words import LayerAccuracy
    from unmask.explain.probing import ProbeReport
    from unmask.model.folder import ModelFolder


@verb
def probe(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text with [MASK]: what would each layer say?")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="Tagged sentences (CoNLL columns, jsonl), or a sentence a line."),
    ] = None,
    properties: Annotated[
        str | None,
        typer.Option(
            "--property", help="pos, entity, length, word or masked; several with commas, such as pos,length."
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="Where the tags are: a column from 1 on, or a name in json lines.")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=20, help="Labels to learn and measure on together.")] = 4000,
    top: Annotated[int, typer.Option("--top", min=1, help="Words of each layer at a mask.")] = 5,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the layers here (.png, .svg).")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page here.")] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Ask what each layer knows: linear probes beside control tasks, and the words each layer would say."""
    from unmask.errors import InputError
    from unmask.explain.layer_words import layer_words
    from unmask.explain.probe_view import draw_probes, report_as_html, words_as_html
    from unmask.explain.sheet import sheet
    from unmask.files import write_text
    from unmask.model.folder import open_model

    if text is None and data is None:
        raise InputError("nothing to ask", wanted="a TEXT with [MASK], or --data FILE", do="give one of them")
    if data is None and (properties or picture):
        raise InputError("--property or --picture without --data", wanted="a file to probe on", do="give --data FILE")
    opened = open_model(model, device=device)
    said = [] if text is None else layer_words(opened, text, top=top)
    asked = (properties or "length").split(",")
    reports = [] if data is None else _reports(opened, data, asked, column, most, console)
    found = [] if data is None or "masked" not in asked else _hidden_words(opened, data, most, console.seed)
    if picture is not None and reports:
        draw_probes(reports, picture, title=f"What the layers of {Path(model).name} know")
    if html is not None:
        pieces = [*(report_as_html(report) for report in reports), *([words_as_html(said)] if said else [])]
        write_text(html, sheet(f"What the layers of {Path(model).name} know", pieces))
        console.note(f"written: {html}")
    return _answer(reports, found, said)


def _reports(
    opened: "ModelFolder", data: Path, asked: list[str], column: str | None, most: int, console: Console
) -> "list[ProbeReport]":
    from unmask.explain.probe_examples import read_probed
    from unmask.explain.probing import probe as probed

    reports = []
    for name in asked:
        if name == "masked":
            continue
        read = read_probed(data, name, column=column)
        with console.progress(name, unit="layers") as progress:
            reports.append(probed(opened, read, most=most, seed=console.seed, report=progress.update))
    return reports


def _hidden_words(opened: "ModelFolder", data: Path, most: int, seed: int) -> "list[LayerAccuracy]":
    from unmask.data.tagged import read_tagged
    from unmask.explain.layer_words import layer_accuracy

    texts = [sentence.text for sentence in read_tagged(data, labelled=False).examples]
    return layer_accuracy(opened, texts[:most], seed=seed)


def _answer(reports: "list[ProbeReport]", found: "list[LayerAccuracy]", said: list[Any]) -> Answer:
    from dataclasses import asdict

    fields: dict[str, Any] = {}
    if reports:
        fields["probes"] = [report.to_dict() for report in reports]
    if found:
        fields["masked"] = [asdict(row) for row in found]
    if said:
        fields["masks"] = [one.to_dict() for one in said]
    words = [report.in_words() for report in reports]
    if found:
        lines = [f"{row.layer:5d}  {row.accuracy:8.3f}  {row.log_probability:15.3f}" for row in found]
        words.append("\n".join(["hidden words, by the model's own head", "layer  accuracy  log-probability", *lines]))
    return Answer(fields, "\n\n".join([*words, *(one.in_words() for one in said)]))
