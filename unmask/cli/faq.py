"""The verbs of `faq`: questions with answers in, an FAQ out that is asked, tuned to its own questions and measured."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli.apps import Device, Model, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.apps.faq import Faq, FaqAnswer
    from unmask.apps.faq_entries import Entry
    from unmask.apps.faq_measures import FaqScores

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="csv, tsv, jsonl or parquet: question, answer, perhaps paraphrases."),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an FAQ, as `unmask faq build` makes it.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="The FAQ's folder.")]
Columns = Annotated[
    str | None, typer.Option("--columns", help="Names that the file uses, such as question=title,answer=body.")
]
PairModel = Annotated[
    str | None,
    typer.Option("--reranker", metavar="DIR", help="A model fine-tuned on pairs of questions, to order the best ten."),
]


@verb
def build(
    files: Files,
    output: Output,
    model: Model = "default",
    reranker: PairModel = None,
    columns: Columns = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Make an FAQ of questions and answers."""
    from unmask.apps.faq import Faq
    from unmask.apps.faq_entries import read_faq
    from unmask.apps.faq_index import FaqIndex
    from unmask.apps.reranking import Reranker
    from unmask.apps.vectors import TextVectors

    started = time.monotonic()
    reading = read_faq(files, columns=parse_columns(columns))
    for note in reading.notes:
        console.note(f"note: {note}")
    encoder = TextVectors(model, device=device, threads=console.threads)
    pairs = Reranker.open(reranker, device=device, threads=console.threads) if reranker is not None else None
    with percent_done(console, "encoding") as report:
        index = FaqIndex.of(reading.entries, encoder, report=report or (lambda *_: None))
    faq = Faq.of(index, pairs)
    faq.save(output)
    fields = {**_fields(output, faq), "conflicts": reading.conflicts, "seconds": round(time.monotonic() - started, 3)}
    return Answer(fields, _words(output, faq))


@verb
def ask(
    folder: Folder,
    questions: Annotated[list[str], typer.Argument(metavar="QUESTION", help="A question, in quotes, or several.")],
    top: Annotated[int, typer.Option("--top", min=1, help="How many candidates to offer.")] = 5,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Ask an FAQ."""
    from unmask.apps.faq import open_faq

    faq = open_faq(folder, device=device, threads=console.threads)
    answers = [faq(questions[0], top=top)] if len(questions) == 1 else faq.many(questions, top=top)
    told = [answer.to_dict() for answer in answers]
    return Answer(told[0] if len(told) == 1 else {"answers": told}, "\n\n".join(map(_answer_words, answers)))


@verb
def tune(
    sources: Annotated[
        list[Path], typer.Argument(metavar="DIR|FILE", help="An FAQ's folder, or files as for `unmask faq build`.")
    ],
    output: Output,
    model: Annotated[
        str | None, typer.Option("-m", "--model", help="The encoder to start from; if none, the FAQ's own, or default.")
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Steps to take, in place of --epochs.")] = None,
    epochs: Annotated[float, typer.Option("--epochs", min=0.01, help="How often every paraphrase is seen.")] = 3.0,
    batch_size: Annotated[int, typer.Option("--batch-size", min=2, help="Pairs a step, told from one another.")] = 32,
    lr: Annotated[float | None, typer.Option("--lr", min=0.0, help="Peak learning rate; by the width if none.")] = None,
    reranker: PairModel = None,
    columns: Columns = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Tune the encoder on the FAQ itself and choose its threshold. The same command again resumes."""
    from unmask.apps.faq_tuning import TuningRequest, tune
    from unmask.apps.reranking import Reranker
    from unmask.cli.finetune import train_shown

    entries, own = _entries(sources, output, columns, console)
    request = TuningRequest(
        entries=entries,
        model=model or own,
        folder=output,
        reranker=Reranker.open(reranker, device=device, threads=console.threads) if reranker is not None else None,
        changes={"epochs": epochs, "batch_size": batch_size, "learning_rate": lr, "seed": console.seed},
        steps=steps,
        device=device,
        threads=console.threads,
    )
    tuned = tune(request, train=lambda run: train_shown(run, console), note=console.note)
    told = (("before", tuned.before), ("after", tuned.after))
    lines = [f"{name}: {_scores_words(scores)}" for name, scores in told if scores is not None]
    if tuned.kept == "start":
        lines.append("tuning did not help: the FAQ keeps the encoder that it started from")
    fields = {**_fields(output, tuned.faq), **tuned.to_dict()}
    return Answer(fields, "\n".join([*lines, _words(output, tuned.faq)]))


@verb
def evaluate(
    folder: Folder,
    data: Annotated[
        Path, typer.Option("--data", help="Questions and their answers; an empty answer means that there is none.")
    ],
    columns: Columns = None,
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Measure an FAQ on questions: P@1, MRR, and whether it knows what it does not know."""
    from unmask.apps.faq import open_faq
    from unmask.apps.faq_entries import read_questions
    from unmask.apps.faq_measures import right_entries

    started = time.monotonic()
    questions, answers = read_questions(data, columns=parse_columns(columns))
    faq = open_faq(folder, device=device, threads=console.threads)
    scores = faq.judge(questions, right_entries(faq.index.entries, answers)).scores(faq.threshold)
    fields = {"folder": str(folder), **scores.to_dict(), "seconds": round(time.monotonic() - started, 3)}
    return Answer(fields, f"{folder}: {_scores_words(scores)}")


def _entries(
    sources: list[Path], output: Path, columns: str | None, console: Console
) -> "tuple[tuple[Entry, ...], str]":
    """What to tune on, and the encoder to start from unless another is named."""
    from unmask.apps.app_folder import read_app
    from unmask.apps.faq import ENTRIES
    from unmask.apps.faq_entries import read_entries, read_faq
    from unmask.apps.spaces import find_encoder

    if len(sources) == 1 and sources[0].is_dir():
        folder = sources[0]
        fields = read_app(folder, "faq")
        if fields is None:
            raise InputError(f"{folder}", wanted="the folder of an FAQ, or files of questions and answers")
        if folder.resolve() == output.resolve():
            raise InputError(f"{folder} as the FAQ and as -o", wanted="two folders", do="name a new one with -o")
        return read_entries(folder / ENTRIES), str(find_encoder(folder, fields["encoder"]))
    reading = read_faq(sources, columns=parse_columns(columns))
    for note in reading.notes:
        console.note(f"note: {note}")
    return reading.entries, "default"


def _fields(folder: Path, faq: "Faq") -> dict[str, Any]:
    return {
        "folder": str(folder),
        "entries": len(faq.index.entries),
        "phrasings": len(faq.index.phrasings),
        "encoder": faq.index.space.encoder.name,
        "whitened": faq.index.space.whitening is not None,
        "threshold": round(faq.threshold, 4),
        "scores": faq.scores and faq.scores.to_dict(),
    }


def _words(folder: Path, faq: "Faq") -> str:
    index = faq.index
    lines = [f"{folder}: {len(index.entries):,} answers, {len(index.phrasings):,} ways to ask"]
    if faq.scores is not None and faq.scores.questions:
        lines.append(f"asked of itself: {_scores_words(faq.scores)}")
    return "\n".join([*lines, f"answers from a score of {faq.threshold:.2f} on"])


def _scores_words(scores: "FaqScores") -> str:
    known = "" if scores.auroc is None else f", AUROC {scores.auroc:.4f}"
    first = f"P@1 {scores.p_at_1:.4f}, MRR {scores.mrr:.4f} on {scores.questions:,} questions{known}"
    given = f"at {scores.threshold:.2f}: {scores.answered:.0%} answered, {scores.answered_right:.0%} of them right"
    withheld = f"{scores.abstained:.0%} of {scores.unanswerable:,} questions without an answer get none"
    return f"{first}\n{given}; {withheld}"


def _answer_words(answer: Any) -> str:
    from unmask.apps.refusing import Refused

    if isinstance(answer, Refused):
        return f"({answer.error})"
    return _found_words(answer)


def _found_words(answer: "FaqAnswer") -> str:
    lines = [f"{answer.answer}  ({answer.score:.2f})" if answer.answer is not None else "(no answer; the closest:)"]
    shown = answer.candidates[1:] if answer.answer is not None else answer.candidates
    lines += [f"  {candidate.score:.2f}  {candidate.question}" for candidate in shown]
    return "\n".join(lines)
