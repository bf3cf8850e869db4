"""The verbs `classify` and `sentiment`: texts or a file in, a label for each out and how sure it is, or none."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device, Model, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.predict import Predictor

Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts, in quotes.")]
Input = Annotated[
    Path | None, typer.Option("--input", help="A file of texts: csv, tsv, jsonl, or txt with one a line.")
]
Columns = Annotated[str | None, typer.Option("--columns", help="Names that the file uses, such as text=review.")]
Words = Annotated[bool, typer.Option("--words", help="Show the words that carried it.")]
Abstain = Annotated[
    float, typer.Option("--abstain-below", min=0, max=1, help="Give no label where the confidence is lower.")
]


@verb
def classify(
    texts: Texts = None,
    source: Input = None,
    model: Model = "default:sentiment",
    abstain_below: Abstain = 0.0,
    words: Words = False,
    columns: Columns = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Say which class a text belongs to, and how sure that is."""
    from unmask.apps.classify import Classify

    judge = Classify.open(model, abstain_below=abstain_below, device=device, threads=console.threads)
    examples = _examples(judge.predictor, texts, source, columns)
    return _answer(examples, partial(judge.many, words=words), console, source)


@verb
def sentiment(
    texts: Texts = None,
    source: Input = None,
    model: Model = "default:sentiment",
    abstain_below: Abstain = 0.0,
    neutral_below: Annotated[
        float,
        typer.Option("--neutral-below", min=0, max=1, help="Of a model of two classes: neutral where both are lower."),
    ] = 0.75,
    words: Words = False,
    columns: Columns = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Say whether a text is positive, negative or neutral, and how sure that is."""
    from unmask.apps.sentiment import Sentiment

    limits = {"abstain_below": abstain_below, "neutral_below": neutral_below}
    feel = Sentiment.open(model, device=device, threads=console.threads, **limits)
    examples = _examples(feel.classify.predictor, texts, source, columns)
    return _answer(examples, partial(feel.many, words=words), console, source)


def _examples(predictor: "Predictor", texts: list[str] | None, source: Path | None, columns: str | None) -> list[Any]:
    examples = [predictor.example(text) for text in texts or []]
    if source is not None:
        reading = predictor.asked.read(source, "test", columns=parse_columns(columns), labelled=False)
        examples += reading.examples if reading else []
    if not examples:
        raise InputError("no text", wanted="at least one", do="give texts, or a file of them with --input")
    return examples


def _answer(examples: Sequence[Any], many: Callable[..., list[Any]], console: Console, source: Path | None) -> Answer:
    """The answers as one object, or as a list: who gives a file counts on its lines."""
    with percent_done(console, "answering", shown=source is not None) as report:
        told = [answer.to_dict() for answer in many(examples, report=report or (lambda *_: None))]
    alone = source is None and len(told) == 1
    if alone and "error" in told[0]:  # among others it spares them; alone it is bad input
        raise InputError(told[0]["error"].removeprefix("got "))
    lines = [_line(example.text, answer) for example, answer in zip(examples, told, strict=True)]
    return Answer(told[0] if alone else {"texts": told}, "\n".join(lines))


def _line(text: str, answer: dict[str, Any]) -> str:
    if "error" in answer:
        return f"{'(refused)':10}        {answer['error']}"
    carried = ", ".join(f"{word['text']} {word['score']:+.2f}" for word in answer.get("words", ()))
    line = f"{answer['label'] or '(unsure)':10}  {answer['confidence']:.3f}  {' '.join(text.split())}"
    return f"{line}\n{'':19}{carried}" if carried else line
