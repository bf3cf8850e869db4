"""The verb `finetune`: a task, a model and labelled examples in, a model that answers out, with its score."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device
from unmask.cli.console import Answer, Console, verb
from unmask.cli.pretrain import parse_duration, stoppable

if TYPE_CHECKING:
    from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request

Changes = dict[str, Any]


@verb
def finetune(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="classify, regress, tag, answer, choose, embed, a preset such as sst2, or glue."
        ),
    ],
    train: Annotated[
        list[Path],
        typer.Option(
            "--train",
            help="Examples to learn from: csv, tsv, jsonl, parquet … or the folder of a public set; "
            "sst2=FOLDER is read as that set is. Given several times, all are learned from.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the new model.")],
    model: Annotated[str, typer.Option("--model", "-m", help="The model to start from.")] = "default",
    dev: Annotated[
        list[Path] | None,
        typer.Option("--dev", help="Examples to measure on, also several times; a tenth of train if none."),
    ] = None,
    rename: Annotated[
        str | None, typer.Option("--rename", help="Labels under other names, such as 0=negative,1=positive.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", min=1, help="Training examples of each --train at most.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that the file uses, such as text=review,label=stars.")
    ] = None,
    epochs: Annotated[float | None, typer.Option("--epochs", min=0.01, help="How often every example is seen.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Examples a step.")] = None,
    lr: Annotated[
        float | None,
        typer.Option("--lr", min=0.0, help="Peak learning rate; by recipe and width if none."),
    ] = None,
    warmup: Annotated[
        float | None, typer.Option("--warmup", min=0.0, max=1.0, help="Share of the steps until the peak.")
    ] = None,
    dropout: Annotated[
        float | None, typer.Option("--dropout", min=0.0, max=0.9, help="Dropout while training.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option("--patience", min=0, help="End after this many evaluations without gain; 0: never.")
    ] = None,
    evaluations: Annotated[float | None, typer.Option("--evaluations", help="Evaluations an epoch.")] = None,
    length: Annotated[int | None, typer.Option("--length", min=8, help="Pieces that a text is cut to.")] = None,
    long_text: Annotated[
        str | None, typer.Option("--long-text", help="What is read of longer texts: head, tail, head+tail or windows.")
    ] = None,
    positions: Annotated[
        int | None, typer.Option("--positions", help="More positions than the model has, interpolated, then trained.")
    ] = None,
    multi_label: Annotated[
        bool, typer.Option("--multi-label", help="classify: a text has any number of labels, a list or separated by |.")
    ] = False,
    class_weights: Annotated[
        bool, typer.Option("--class-weights", help="Rare classes count as much as frequent.")
    ] = False,
    search: Annotated[
        str | None,
        typer.Option("--search", metavar="TIME", help="Try learning rates and epochs for so long, such as 30m."),
    ] = None,
    curve: Annotated[
        bool, typer.Option("--learning-curve", help="Also learn from growing shares of the examples.")
    ] = False,
    runs: Annotated[
        int, typer.Option("--runs", min=1, help="Runs with so many seeds, for mean and deviation; the best is kept.")
    ] = 1,
    freeze: Annotated[
        str | None, typer.Option("--freeze", help="Layers from below that do not learn, such as 4; all: the encoder.")
    ] = None,
    layer_decay: Annotated[
        float | None,
        typer.Option("--layer-decay", help="What each layer further down learns more slowly by, such as 0.9."),
    ] = None,
    fresh_layers: Annotated[
        int | None, typer.Option("--fresh-layers", min=0, help="Top layers that start anew.")
    ] = None,
    mean_start: Annotated[
        bool | None,
        typer.Option(
            "--mean-start/--no-mean-start",
            help="A further layer begins as the mean of all tokens; by default for sentence encoders.",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option("--precision", help="Of products: float32 or bfloat16; if none, what this machine is faster in."),
    ] = None,
    adversarial: Annotated[
        float | None,
        typer.Option("--adversarial", min=0.0, help="Also learn from embeddings moved so far (FGM), such as 0.1."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option("--features", help="Only a reader of these layers learns: last, concat-last-4, weighted-all …"),
    ] = None,
    reader: Annotated[str | None, typer.Option("--reader", help="What reads features: bilstm or linear.")] = None,
    crf: Annotated[bool | None, typer.Option("--crf", help="tag: learn which tags follow which.")] = None,
    context: Annotated[
        bool | None, typer.Option("--context", help="tag: read a sentence among its neighbours.")
    ] = None,
    marked: Annotated[
        bool | None, typer.Option("--marked", help="answer: mark words of the context that the question has too.")
    ] = None,
    pooling: Annotated[str | None, typer.Option("--pooling", help="embed: mean, cls or max.")] = None,
    share_encoder: Annotated[
        bool, typer.Option("--share-encoder", help="Save only what differs from the model, which must stay there.")
    ] = False,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Fine-tune a model on a task. The same command again resumes an interrupted run."""
    from unmask.tasks.finetuning_run import FineTuningRun, Request

    request = Request(
        task=task,
        model=model,
        train=tuple(train),
        folder=output,
        dev=tuple(dev or ()),
        rename=parse_pairs(rename, "--rename", "0=negative,1=positive"),
        most=most,
        columns=parse_columns(columns),
        changes={
            **_given(
                epochs=epochs,
                batch_size=batch_size,
                learning_rate=lr,
                warmup=warmup,
                dropout=dropout,
                patience=patience,
                evaluations=evaluations,
                positions=positions,
                freeze=freeze,
                layer_decay=layer_decay,
                fresh_layers=fresh_layers,
                mean_start=mean_start,
                precision=precision,
                adversarial=adversarial,
                features=features,
                reader=reader,
            ),
            "seed": console.seed,
        },
        options=_given(longest=length, long_text=long_text, crf=crf, context=context, marked=marked, pooling=pooling),
        class_weights=class_weights,
        multi_label=multi_label,
        share_encoder=share_encoder,
        device=device,
    )
    if task == "glue":
        return _glue(request, console)
    if search is not None:
        return _search(request, search, console)
    if curve:
        return _learning_curve(request, console)
    if runs > 1:
        return _several_runs(request, runs, console)
    outcome = train_shown(FineTuningRun(request, console.note), console)
    words = [
        f"{outcome.folder}: {outcome.metric} {outcome.score:.4f} on {outcome.dev_examples:,} examples",
        *(f"  {name}: {_told(scores)}" for name, scores in outcome.by_source.items()),
        f"{outcome.steps:,} steps, {outcome.examples_per_second:,.0f} examples a second, {outcome.seconds:.0f} s",
    ]
    return Answer(outcome.to_dict(), "\n".join(words))


def train_shown(run: "FineTuningRun", console: Console) -> "Outcome":
    """Trains with its progress on the console; an interruption waits for the end of a step."""
    with stoppable(console) as stop, console.progress("fine-tuning", run.tuning.steps, "steps") as bar:
        return run.train(lambda standing: bar.update(standing.step.number, None, **_figures(standing)), stop)


def _several_runs(request: "Request", runs: int, console: Console) -> Answer:
    from unmask.tasks.several_runs import several_runs

    seeds = range(console.seed, console.seed + runs)
    found = several_runs(request, seeds, train=lambda run: train_shown(run, console), note=console.note)
    words = [
        f"{found.folder}: {found.metric} {found.score:.4f} ± {found.deviation:.4f} over {runs} seeds",
        f"the model is the best of them, {max(found.scores.values()):.4f} ({Path(found.best).name})",
    ]
    return Answer(found.to_dict(), "\n".join(words))


def _glue(request: "Request", console: Console) -> Answer:
    from unmask.tasks.glue import run_glue

    table = run_glue(request, console.note)
    return Answer(table.to_dict(), table.to_words())


def _search(request: "Request", budget: str, console: Console) -> Answer:
    from unmask.tasks.searching import search

    found = search(request, parse_duration(budget), console.note)
    rows = [f"{t.learning_rate:g}, {t.epochs:g} epochs: {t.score:.4f}, {t.seconds:.0f} s" for t in found.trials]
    if found.left_out:
        rows.append(f"no time for {found.left_out} more")
    best = f"{found.best.folder}: {found.best.metric} {found.best.score:.4f}, the best of {len(found.trials)}"
    return Answer(found.to_dict(), "\n".join([*rows, best]))


def _learning_curve(request: "Request", console: Console) -> Answer:
    from unmask.tasks.learning_curve import learning_curve

    found = learning_curve(request, console.note)
    rows = [f"{point.examples:>9,} examples: {found.metric} {point.score:.4f}" for point in found.points]
    return Answer(found.to_dict(), "\n".join([*rows, f"{found.folder}: learning_curve.png"]))


def parse_columns(given: str | None) -> dict[str, str]:
    """Names as the command line has them.

    >>> parse_columns("text=review,label=stars")
    {'text': 'review', 'label': 'stars'}
    """
    return parse_pairs(given, "--columns", "text=review,label=stars")


def parse_pairs(given: str | None, flag: str, example: str) -> dict[str, str]:
    """Pairs as the command line has them.

    >>> parse_pairs("0=negative,1=positive", "--rename", "0=no")
    {'0': 'negative', '1': 'positive'}
    """
    from unmask.errors import InputError

    pairs = [pair.partition("=") for pair in (given or "").split(",") if pair]
    if any(not equals or not name for name, equals, _ in pairs):
        raise InputError(f"{flag} {given}", wanted=f"pairs such as {example}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _told(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in scores.items())


def _given(**options: Any) -> Changes:
    return {name: value for name, value in options.items() if value is not None}


def _figures(standing: Any) -> dict[str, str]:
    shown = {"epoch": f"{standing.epoch:.2f}", "loss": f"{standing.step.loss:.3f}"}
    return shown | {name: f"{value:.4f}" for name, value in (standing.scores or {}).items()}
