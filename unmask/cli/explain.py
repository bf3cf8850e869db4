"""The verb `explain`: which words decided an answer, and how true that explanation is to the model."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device
from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns

if TYPE_CHECKING:
    from unmask.explain.nearest_examples import Nearest
    from unmask.model.folder import ModelFolder


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
        int | None,
        typer.Option("--steps", min=1, help="Steps of integrated gradients (as needed), or orders of Shapley values."),
    ] = None,
    orders: Annotated[
        int, typer.Option("--orders", min=1, help="Random orders of the words that the explanation is held against.")
    ] = 99,
    chinese_words: Annotated[
        bool, typer.Option("--chinese-words", help="Score Chinese words, not characters.")
    ] = False,
    counterfactual: Annotated[
        bool, typer.Option("--counterfactual", help="Find the fewest word replacements that change a class.")
    ] = False,
    most_words: Annotated[int, typer.Option("--most-words", min=1, help="Words to replace at most.")] = 3,
    proposer: Annotated[
        str, typer.Option("--proposer", help="The pretrained model that proposes replacements.")
    ] = "default",
    nearest: Annotated[
        Path | None, typer.Option("--nearest", metavar="FILE", help="Training examples: which are the nearest?")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that the file uses, such as text=review,label=stars.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with colours and attention here.")
    ] = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Explain an answer: which words decided it, and how faithful that explanation is."""
    from unmask.explain.counterfactuals import counterfactuals
    from unmask.explain.explaining import explained
    from unmask.explain.page import explanation_page
    from unmask.explain.proposing import Proposer
    from unmask.explain.subjects import subject_of
    from unmask.files import write_text
    from unmask.model.folder import open_model

    opened = open_model(model, device=device)
    example = text if pair is None else (text, pair)
    subject = subject_of(opened, example, target=target, chinese_words=chinese_words)
    found = explained(subject, method=method, steps=steps, orders=orders, seed=console.seed)
    more: dict[str, Any] = {}
    if counterfactual:
        proposing = Proposer(open_model(proposer, device=device))
        more["counterfactuals"] = counterfactuals(opened, example, found, proposing, most_words=most_words)
    if nearest is not None:
        more["nearest"] = _nearest(opened, example, nearest, parse_columns(columns), console)
    if html is not None:
        write_text(html, explanation_page(found, subject, [one.as_html() for one in more.values()]))
        console.note(f"written: {html}")
    fields = found.to_dict() | {name: one.to_dict() for name, one in more.items()}
    words = [found.in_colour(colour=sys.stdout.isatty()), *(one.in_words() for one in more.values())]
    return Answer(fields, "\n\n".join(words))


def _nearest(
    opened: "ModelFolder", example: str | tuple[str, str], path: Path, columns: dict[str, str], console: Console
) -> "Nearest":
    from unmask.errors import InputError
    from unmask.explain.nearest_examples import nearest_examples
    from unmask.tasks.asked import asked

    own = asked(opened.about.task or "classify")
    plain = asked(own.kind.task.kind) if columns else own  # a file with columns of its own is none of the preset's
    reading = plain.read(path, "train", columns=columns)
    if reading is None:
        raise InputError(f"{path} without training examples", wanted="a labelled file")
    with console.progress("reading examples", unit="pieces") as progress:
        return nearest_examples(opened, example, reading.examples, report=progress.update)
