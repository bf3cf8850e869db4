"""The verbs that ask a pretrained model something at once: fill, next, features, score."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.features import PieceVectors, TextVectors
    from unmask.apps.fill import Filled
    from unmask.apps.reading import Report
    from unmask.apps.score import ScoredText

Model = Annotated[str, typer.Option("-m", "--model", metavar="MODEL", help="A model folder or a model's name.")]
Device = Annotated[str, typer.Option("--device", help="Where to compute: cpu, cuda, cuda:1, mps.")]
Precision = Annotated[
    str,
    typer.Option("--precision", help="Of products: float32, bfloat16, float16, or auto: what this CPU is faster in."),
]
Texts = Annotated[list[str], typer.Argument(metavar="TEXT", help="A text, in quotes, or several.")]

SHOWN_TEXT = 60  # characters of a text in a line of words


class Pooling(StrEnum):
    """How one vector is made of a text's pieces."""

    mean = "mean"
    cls = "cls"
    max = "max"


@verb
def fill(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help='For instance "The sky is [MASK]."')],
    model: Model = "default",
    top: Annotated[int, typer.Option("--top", min=1, help="How many candidates for each mask.")] = 5,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Fill the [MASK]s of a text with the likeliest words."""
    with quick_start(console, model):
        from unmask.apps.fill import Filler
        from unmask.apps.predict import open_any, the_model

        opened = open_any(model, device=device, head="masked_words")
        answers = Filler(the_model(opened), opened.tokenizer, top=top).many(texts)
    _note_cuts(console, texts, [answer.cut for answer in answers])
    fields = answers[0].to_dict() if len(answers) == 1 else {"texts": [answer.to_dict() for answer in answers]}
    return Answer(fields, "\n\n".join(map(_filled_words, answers)))


@verb
def next_sentence(
    first: Annotated[str, typer.Argument(metavar="A", help="A sentence or text.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another, which may follow it.")],
    model: Model = "default",
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Say whether B follows A, and with what probability."""
    with quick_start(console, model):
        from unmask.apps.following import Following
        from unmask.apps.predict import open_any, the_model

        opened = open_any(model, device=device, head="next_sentence")
        answer = Following(the_model(opened), opened.tokenizer)(first, second)
    if answer.cut:
        console.note(f"note: too long together for {opened.config.positions} positions; the longer text lost its end")
    return Answer(answer.to_dict(), f"{answer.label} ({answer.probability:.3f} that B follows A)")


@verb
def features(
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts, in quotes.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="A file with one text a line.")] = None,
    layers: Annotated[str, typer.Option("--layers", help="Layers to put side by side; -1 is the last.")] = "-1",
    pooling: Annotated[Pooling, typer.Option("--pooling", help="How one vector is made of a text.")] = Pooling.mean,
    tokens: Annotated[bool, typer.Option("--tokens", help="One vector for each piece, with offsets.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A .npy or .jsonl file to write.")] = None,
    model: Model = "default",
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Turn texts into vectors: the hidden states of chosen layers."""
    from unmask.apps.features import Features, check_ending, save_vectors
    from unmask.apps.predict import open_any, the_model
    from unmask.apps.reading import read_lines

    chosen = _layer_numbers(layers)
    if output is not None:
        check_ending(output, pieces=tokens)
    given = [*(texts or []), *(read_lines(source) if source is not None else [])]
    if not given:
        raise InputError("no text", wanted="at least one", do="give texts, or a file of them with --input")
    opened = open_any(model, device=device, threads=console.threads)
    take = Features(the_model(opened), opened.tokenizer)
    with percent_done(console, "encoding", shown=source is not None) as report:
        answer: TextVectors | PieceVectors = (
            take.pieces(given, layers=chosen, report=report)
            if tokens
            else take(given, layers=chosen, pooling=pooling.value, report=report)
        )
    _note_cuts(console, given, answer.cuts)
    if output is None:
        return Answer(answer.to_dict(), _vector_words(given, answer))
    save_vectors(answer, given, output)
    fields = answer.describe() | {"texts": len(given), "file": str(output)}
    return Answer(fields, f"{output}: {len(given):,} texts, {fields['width']} numbers a vector")


@verb
def score(
    texts: Texts,
    model: Model = "default",
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Say how likely each word of a text is to the model, which sees all the others."""
    from unmask.apps.predict import open_any, the_model
    from unmask.apps.score import Scorer

    opened = open_any(model, device=device, head="masked_words", threads=console.threads)
    answer = Scorer(the_model(opened), opened.tokenizer)(texts)
    _note_cuts(console, texts, [scored.cut for scored in answer.texts])
    return Answer(answer.to_dict(), "\n\n".join(map(_scored_words, answer.texts)))


@contextmanager
def quick_start(console: Console, model: str) -> Iterator[None]:
    """For a few sentences to read and nothing more: most of the time is spent on loading.

    The collector finds nothing among a library's fresh objects, and takes a tenth of the time it loads in. One thread
    reads a sentence in a tenth of a second; two must wait for each other, on a busy machine for seconds.
    """
    gc.disable()
    try:
        with _torch_threads(console.threads or 1, model):
            yield
    finally:
        gc.enable()


@contextmanager
def _torch_threads(count: int, model: str) -> Iterator[None]:
    """So many threads for torch, if the model needs it at all: a serving folder does not."""
    from unmask.model.named import find_model
    from unmask.runtime.folder import is_serving_folder

    if is_serving_folder(find_model(model)):
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def percent_done(console: Console, title: str, *, shown: bool = True) -> "Iterator[Report | None]":
    """What to tell an application that has much to do, so that people see how far it is."""
    if not shown:
        yield None
        return
    with console.progress(title, total=100, unit="%") as progress:
        yield lambda done, total: progress.update(100 * done / total)


def _layer_numbers(layers: str) -> list[int]:
    try:
        return [int(layer) for layer in layers.split(",")]
    except ValueError:
        raise InputError(f"--layers {layers}", wanted="whole numbers with commas between, like -1,-2") from None


def _note_cuts(console: Console, texts: Sequence[str], cuts: Sequence[int | None]) -> None:
    for text, cut in zip(texts, cuts, strict=True):
        if cut is not None:
            left = f"the last {len(text) - cut:,} of {len(text):,} characters were not read"
            console.note(
                f"note: a text too long for the model's positions: {left}, from {_short(text[cut:].strip())!r} on"
            )


def _filled_words(answer: "Filled") -> str:
    lines = [answer.best]
    for number, mask in enumerate(answer.masks, 1):
        candidates = "  ".join(f"{candidate.token} {candidate.probability:.3f}" for candidate in mask.candidates)
        lines.append(f"  {number if len(answer.masks) > 1 else ''}  {candidates}".rstrip())
    return "\n".join(lines)


def _vector_words(texts: Sequence[str], answer: "TextVectors | PieceVectors") -> str:
    rows = []
    for text, vectors in zip(texts, answer.vectors, strict=True):
        numbers = " ".join(f"{number:.3f}" for number in vectors.reshape(-1)[:4])
        rows.append(f"{' × '.join(map(str, vectors.shape))}  {numbers} …  {_short(text)}")
    return "\n".join([*rows, "(all numbers with --json, or -o FILE.npy)"])


def _scored_words(scored: "ScoredText") -> str:
    rows = [f"{word.log_probability:9.3f}  {scored.text[word.start : word.end]}" for word in scored.words]
    return "\n".join([f"{scored.log_probability:9.3f}  {scored.text}", *rows])


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_TEXT else f"{text[: SHOWN_TEXT - 1]}…"
