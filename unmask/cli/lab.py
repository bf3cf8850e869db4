"""The verb `lab`: one of the paper's experiments on your own text, resumed by the same command, as a table."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns
from unmask.cli.pretrain import parse_duration, stoppable

DEFAULT_BUDGET = "20m"


@verb
def lab(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="objectives, sizes, features, masking or ancestors.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Rows, report and models; what is there is kept.")],
    text: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TEXT…|STORE", help="Text to pretrain on, or a prepared store; features needs none."),
    ] = None,
    train: Annotated[
        list[Path] | None, typer.Option("--train", help="Labelled examples to learn from; also several times.")
    ] = None,
    dev: Annotated[
        list[Path] | None, typer.Option("--dev", help="Examples to measure on; a tenth of train if none.")
    ] = None,
    task: Annotated[str, typer.Option("--task", help="classify, tag, … or a preset such as sst2.")] = "classify",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="features: the model to read; default if none.")
    ] = None,
    size: Annotated[str, typer.Option("--size", help="Of the models that are pretrained.")] = "tiny",
    sizes: Annotated[str, typer.Option("--sizes", help="sizes: those to compare, smallest first.")] = "tiny,mini",
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", help=f"Time for all pretrainings together, {DEFAULT_BUDGET} if none; tasks take more."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Steps of each pretraining instead: the same rows every time.")
    ] = None,
    vocab: Annotated[
        Path | None, typer.Option("--vocab", help="A vocab.txt or model folder; learned from the text if none.")
    ] = None,
    vocab_size: Annotated[int | None, typer.Option("--vocab-size", help="Pieces of the vocabulary to learn.")] = None,
    length: Annotated[int, typer.Option("--length", min=8, help="Pieces a sequence of pretraining.")] = 128,
    batch_tokens: Annotated[
        int | None, typer.Option("--batch-tokens", min=16, help="Pieces a step of pretraining.")
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", min=0.01, help="Of each fine-tuning.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Examples a fine-tuning step.")] = None,
    most: Annotated[int | None, typer.Option("--most", min=1, help="Training examples at most.")] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that the files use, such as text=review,label=stars.")
    ] = None,
    similarity: Annotated[
        Path | None,
        typer.Option("--similarity", metavar="FILE", help="ancestors: lines of two words and how alike they are."),
    ] = None,
    *,
    console: Console,
) -> Answer:
    """Repeat an experiment of the paper on your text. The same command again goes on where it was."""
    from unmask.lab.experiment import Asked
    from unmask.lab.experiment_report import in_words
    from unmask.lab.experiments import PRETRAINING, run

    if budget is None and steps is None and experiment in PRETRAINING:
        budget = DEFAULT_BUDGET
    asked = Asked(
        experiment,
        output,
        text=tuple(text or ()),
        train=tuple(train or ()),
        dev=tuple(dev or ()),
        task=task,
        model=model,
        size=size,
        sizes=tuple(name.strip() for name in sizes.split(",") if name.strip()),
        budget=parse_duration(budget) if budget else None,
        steps=steps,
        vocabulary=vocab,
        vocabulary_size=vocab_size,
        length=length,
        batch_tokens=batch_tokens,
        epochs=epochs,
        batch_size=batch_size,
        most=most,
        columns=parse_columns(columns),
        similarity=similarity,
        seed=console.seed,
    )

    @contextmanager
    def show(title: str) -> Iterator[Callable[[int, int, Mapping[str, str]], None]]:
        with console.progress(title, unit="steps") as bar:
            yield lambda done, total, figures: bar.update(done, total, **figures)

    with stoppable(console) as stop:
        found = run(asked, console.note, show, stop)
    fields = found.to_dict()
    return Answer(fields, f"{in_words(found.columns, found.rows)}\nreport: {fields['report']}")
