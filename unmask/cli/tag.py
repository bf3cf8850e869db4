"""The verb `tag`: texts in, their entities out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli.apps import Device, Model, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError


@verb
def tag(
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts, in quotes.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="A file with one text a line.")] = None,
    model: Model = "default:entities",
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Find the entities of a text: names of people, places, organisations, or whatever the model has learned."""
    from unmask.apps.predict import open_any, the_model
    from unmask.apps.reading import read_lines
    from unmask.apps.tag import EntityFinder

    given = [*(texts or []), *(read_lines(source) if source is not None else [])]
    if not given:
        raise InputError("no text", wanted="at least one", do="give texts, or a file of them with --input")
    opened = open_any(model, device=device)
    find = EntityFinder(the_model(opened), opened.tokenizer, opened.about)
    with percent_done(console, "tagging", shown=source is not None) as report:
        told = [answer.to_dict() for answer in find.many(given, report=report or (lambda *_: None))]
    alone = source is None and len(told) == 1  # a file of one line is a list too: who gives a file counts on its lines
    if alone and "error" in told[0]:  # among others it spares them; alone it is bad input
        raise InputError(told[0]["error"].removeprefix("got "))
    return Answer(told[0] if alone else {"texts": told}, "\n\n".join(map(_lines, given, told)))


def _lines(text: str, answer: dict[str, Any]) -> str:
    if "error" in answer:
        return f"(refused)  {answer['error']}"
    rows = [f"{entity['type']:8}  {entity['score']:.3f}  {entity['text']}" for entity in answer["entities"]]
    return "\n".join([text, *(rows or ["(no entities)"])])
