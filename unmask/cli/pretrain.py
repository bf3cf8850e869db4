"""The verb `pretrain`: flags to settings, a live line of progress, and what came out."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.console import Answer, Console, Progress, verb
from unmask.cli.tensorboard import tensorboard_writer
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.tasks.pretraining import Standing
    from unmask.tasks.pretraining_run import Outcome

TEXT = Annotated[list[Path], typer.Argument(metavar="TEXT…|STORE", help="Text files or folders, or a prepared store.")]
OUTPUT = Annotated[Path, typer.Option("--output", "-o", help="The run's folder; an interrupted run in it is resumed.")]


@verb
def pretrain(
    text: TEXT,
    output: OUTPUT,
    size: Annotated[
        str | None, typer.Option(help="tiny, mini (if none), small, medium, base, large; auto: by the budget.")
    ] = None,
    vocab: Annotated[
        Path | None, typer.Option(help="A vocab.txt or model folder; learned from the text if none.")
    ] = None,
    vocab_size: Annotated[int | None, typer.Option(help="Pieces of the vocabulary to learn.")] = None,
    cased: Annotated[bool, typer.Option("--cased", help="Keep capitals and accents.")] = False,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps to take.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time to take instead, such as 90s, 30m or 2h.")] = None,
    preset: Annotated[str, typer.Option(help="cpu: best per minute on a small machine; paper: as published.")] = "cpu",
    objective: Annotated[str | None, typer.Option(help="mlm+nsp, mlm, mlm+sop, mlm+context or clm.")] = None,
    length: Annotated[
        str | None, typer.Option(help="Pieces a sequence, such as 128, or 128,512 in two phases.")
    ] = None,
    phases: Annotated[str | None, typer.Option(help="Per cent of the steps at each length, such as 90,10.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(min=16, help="Pieces a step.")] = None,
    part_tokens: Annotated[
        int | None, typer.Option(min=16, help="Pieces in memory at once; by free memory if none.")
    ] = None,
    mask_rate: Annotated[float | None, typer.Option(min=0.01, max=0.9, help="Share of words asked for.")] = None,
    mask_mix: Annotated[
        str | None, typer.Option(help="Masked/random/kept per cent of these, such as 80/10/10.")
    ] = None,
    mask_unit: Annotated[str | None, typer.Option(help="What is masked as a whole: piece, word or span.")] = None,
    words: Annotated[str | None, typer.Option(help="Segmenter for whole Chinese words: jieba (extra zh).")] = None,
    lr: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    warmup: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Share of the steps until the peak, such as 0.06.")
    ] = None,
    schedule: Annotated[str | None, typer.Option(help="Decay after the peak: linear, cosine or constant.")] = None,
    final_lr: Annotated[float | None, typer.Option(help="Learning rate at the end.")] = None,
    optimiser: Annotated[
        str | None, typer.Option(help="adamw, muon (learns more a step) or lamb (for large batches).")
    ] = None,
    dropout: Annotated[float | None, typer.Option(min=0.0, max=0.9, help="Dropout while training.")] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Of products: auto (what this CPU is faster in; preset cpu), float32, bfloat16 or float16."),
    ] = None,
    local_start: Annotated[
        bool | None,
        typer.Option("--local-start/--no-local-start", help="Begin with heads that look at neighbours (preset cpu)."),
    ] = None,
    counted_start: Annotated[
        bool | None,
        typer.Option("--counted-start/--no-counted-start", help="Begin with words by their neighbours (preset cpu)."),
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute layers again backwards: more work, far less memory.")
    ] = False,
    compile: Annotated[
        bool, typer.Option("--compile", help="torch.compile the feed-forward parts: for GPUs, a CPU gains nothing.")
    ] = False,
    clip: Annotated[float | None, typer.Option(min=0.0, help="Largest gradient norm, 0 for any.")] = None,
    held_out: Annotated[float | None, typer.Option(min=0.0, max=0.5, help="Share of documents to measure on.")] = None,
    column: Annotated[str | None, typer.Option(help="Where a table has its text.")] = None,
    init_vectors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="GloVe or word2vec vectors that the word embeddings start from.")
    ] = None,
    from_model: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="A model to go on from; --vocab gives it another vocabulary."),
    ] = None,
    add_pieces: Annotated[
        str | None,
        typer.Option(metavar="FILE|N", help="Words that its vocabulary gets: of a file, or the text's N best."),
    ] = None,
    layers: Annotated[
        int | None, typer.Option(help="Layers that it gets among its own, adding nothing until they have learned.")
    ] = None,
    general: Annotated[
        Path | None, typer.Option(metavar="TEXT", help="Measure on this text too what such a model forgets.")
    ] = None,
    save_every: Annotated[float, typer.Option(min=0.0, help="Seconds between checkpoints.")] = 60.0,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, mps.")] = "cpu",
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the figures for TensorBoard too (extra lab).")
    ] = None,
    shard: Annotated[
        bool, typer.Option("--shard", help="Divide the weights among the processes of torchrun (FSDP).")
    ] = False,
    *,
    console: Console,
) -> Answer | None:
    """Pretrain a BERT from raw text. The same command again resumes it, to the very same model."""
    from unmask.tasks.pretraining_run import PretrainingRun, Request
    from unmask.training.clock import process_age
    from unmask.training.distributed import joined

    changes = {
        "steps": steps,
        "objective": objective,
        "lengths": _numbers("--length", length, int),
        "phases": _numbers("--phases", phases, float),
        "batch_tokens": batch_tokens,
        "part_tokens": part_tokens,
        "mask_rate": mask_rate,
        "mask_mix": _mix(mask_mix),
        "mask_unit": mask_unit,
        "words": words,
        "learning_rate": lr,
        "warmup": warmup,
        "shape": schedule,
        "final_learning_rate": final_lr,
        "optimiser": optimiser,
        "dropout": dropout,
        "clip": clip,
        "precision": precision,
        "local_start": local_start,
        "counted_start": counted_start,
        "recompute": recompute or None,
        "compile": compile or None,
        "held_out": held_out,
        "seed": console.seed,
    }
    request = Request(
        paths=text,
        folder=output,
        size=size,
        preset=preset,
        changes={name: value for name, value in changes.items() if value is not None},
        budget=parse_duration(budget) if budget else None,
        vocabulary=vocab,
        vocabulary_size=vocab_size,
        cased=cased,
        column=column,
        init_vectors=init_vectors,
        from_model=from_model,
        additions=add_pieces,
        layers=layers,
        general=general,
        save_every=save_every,
        device=device,
        shard=shard,
    )
    with joined(os.environ, device) as processes, tensorboard_writer(None if processes.rank else tensorboard) as write:
        if processes.rank:
            console = replace(console, quiet=True)  # the first process speaks for all
        command = os.getpid() if processes.world == 1 else os.getppid()  # torchrun's: it took its time to start, too
        with console.progress("tokenising", unit="bytes") as reading:
            run = PretrainingRun(request, console.note, reading.update, processes, waited=process_age(command))
        with stoppable(console) as stop, console.progress("pretraining", unit="steps") as progress:

            def watch(standing: "Standing") -> None:
                _show(progress, standing)
                write(standing)

            outcome = run.finish(watch, stop)
    return None if processes.rank else Answer(outcome.to_dict(), _in_words(outcome, output))


def parse_duration(text: str) -> float:
    """Seconds from a time such as 90s, 30m, 2h or 1h30m.

    >>> parse_duration("90s"), parse_duration("1h30m"), parse_duration("45")
    (90.0, 5400.0, 45.0)
    """
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", text.strip())
    if not text.strip() or not found or not any(found.groups()):
        raise InputError(f"a time of {text!r}", wanted="such as 90s, 30m or 1h30m")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


@contextmanager
def stoppable(console: Console) -> Iterator[Callable[[], bool]]:
    """Lets an interruption (Ctrl-C, or a polite kill) wait for the end of a step; a second one does not wait."""
    asked: list[int] = []

    def ask(number: int, _: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        console.note("stopping after this step; interrupt again to stop at once")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(progress: Progress, standing: "Standing") -> None:
    step = standing.step
    figures = {"loss": f"{step.loss:.3f}"}
    figures |= {name.removesuffix("_accuracy"): f"{100 * value:.1f}%" for name, value in step.figures.items()}
    figures["tokens/s"] = f"{standing.tokens_per_second:,.0f}"
    if standing.held_out:
        figures["held out"] = f"{next(iter(standing.held_out.values())):.3f}"
    progress.update(step.number, standing.pace.steps, **figures)


def _in_words(outcome: "Outcome", folder: Path) -> str:
    from unmask.training import curve
    from unmask.training.journal import Journal

    events = list(Journal(folder / "run.jsonl").events())
    name = next(name for name in events[-1] if name.endswith("_loss"))
    drawn = curve.in_words(curve.curves(events, name)["training"], level=outcome.unigram_loss)
    reached = [
        f"{label} {value:.3f}" if label.endswith("loss") else f"{label} {100 * value:.1f} %"
        for label, value in (
            ("masked-word loss", outcome.mlm_loss),
            ("masked-word accuracy", outcome.mlm_accuracy),
            ("next-sentence accuracy", outcome.nsp_accuracy),
        )
        if value is not None
    ]
    changes = [
        f"masked-word loss on {kind} text: {loss:.3f} before, {outcome.after[kind]:.3f} after\n"
        for kind, loss in (outcome.before or {}).items()
        if outcome.after
    ]
    examples = "".join(f"{example.in_words()}\n" for example in outcome.examples)
    return (
        f"{drawn}\n(dots: {outcome.unigram_loss:.2f}, the loss of a model that knows only how frequent words are)\n"
        f"{', '.join(reached)}\n{''.join(changes)}"
        f"{outcome.steps:,} steps, {outcome.tokens:,} pieces in {outcome.seconds:,.0f} s "
        f"({outcome.tokens_per_second:,.0f} a second)\n"
        f"{examples}model, curve and journal: {outcome.folder}"
    )


def _numbers(flag: str, text: str | None, kind: Callable[[str], Any]) -> tuple[Any, ...] | None:
    if text is None:
        return None
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{flag} {text}", wanted="numbers with commas between, such as 128,512") from None


def _mix(text: str | None) -> tuple[float, ...] | None:
    """Shares from per cent: 80/10/10."""
    if text is None:
        return None
    try:
        parts = [float(part) / 100 for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) != 3 or abs(sum(parts) - 1) > 1e-6 or min(parts) < 0:
        raise InputError(f"--mask-mix {text}", wanted="three shares that sum to 100, such as 80/10/10")
    return tuple(parts)
