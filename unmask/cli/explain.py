"""The verb `explain`: which words decided an answer, and how true that explanation is to the model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.apps import Device
from unmask.cli.console import Answer, Console, verb


@verb
def explain(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model folder or a model's name.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, in quotes.")],
    pair: Annotated[
        str | None, typer.Option("--pair", help="The second text of a pair, or the text that a question is asked of.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="ig, gradient, erasure, shapley or attention: how words are scored.")
    ] = "ig",
    target: Annotated[
        str | None,
        typer.Option("--target", help="What to explain in place of the model's answer: a label, a word, 'Rome=LOC'."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Steps of integrated gradients, or orders of Shapley values.")
    ] = None,
    orders: Annotated[
        int, typer.Option("--orders", min=1, help="Random orders of the words that the explanation is held against.")
    ] = 99,
    chinese_words: Annotated[
        bool, typer.Option("--chinese-words", help="Score Chinese words, not characters.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with colours and attention here.")
    ] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Explain an answer: which words decided it, and how faithful that explanation is."""
    from unmask.explain.explaining import explained
    from unmask.explain.page import explanation_page
    from unmask.explain.subjects import subject_of
    from unmask.files import write_text
    from unmask.model.folder import open_model

    opened = open_model(model, device=device)
    subject = subject_of(opened, text if pair is None else (text, pair), target=target, chinese_words=chinese_words)
    found = explained(subject, method=method, steps=steps, orders=orders, seed=console.seed)
    if html is not None:
        write_text(html, explanation_page(found, subject))
        console.note(f"written: {html}")
    return Answer(found.to_dict(), found.in_colour(colour=sys.stdout.isatty()))
