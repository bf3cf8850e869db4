"""The verb `predict`: texts or a file in, one line of JSON for each out, by any fine-tuned model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unmask.cli.apps import Device, Precision, percent_done
from unmask.cli.console import Answer, Console, verb
from unmask.cli.finetune import parse_columns
from unmask.errors import InputError


@verb
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A fine-tuned model folder or a model's name.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Texts, in quotes.")] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="The second text of a pair, or the text that a question is asked of.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", help="A file of examples: csv, tsv, jsonl, or txt with one a line.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Names that the file uses, such as text=review.")
    ] = None,
    submit: Annotated[
        Path | None, typer.Option("--submit", metavar="DIR", help="Write the official answer file of the preset here.")
    ] = None,
    device: Device = "cpu",
    precision: Precision = "float32",
    *,
    console: Console,
) -> Answer:
    """Answer with a fine-tuned model: one line of JSON for each text or example."""
    from unmask.apps.predict import Predictor
    from unmask.apps.refusing import Refused

    predictor = Predictor.open(model, device=device, threads=console.threads, precision=precision)
    examples = [predictor.example(text if pair is None else (text, pair)) for text in texts or []]
    if source is not None:
        reading = predictor.asked.read(source, "test", columns=parse_columns(columns), labelled=False)
        examples += reading.examples if reading else []
    if not examples:
        raise InputError("nothing to answer", wanted="texts, or a file of examples with --input")
    with percent_done(console, "answering", shown=source is not None) as report:
        answers = predictor.many(examples, report=report or (lambda *_: None))
    console.note(f"engine: {predictor.engine}")
    refused = sum(isinstance(answer, Refused) for answer in answers)
    if refused:
        console.note(f"{refused:,} of {len(answers):,} could not be answered; their lines say why")
    if submit is not None:
        for path in _submit(predictor, examples, answers, submit, source):
            console.note(f"written: {path}")
    told = [answer.to_dict() for answer in answers]
    return Answer({"answers": told}, "\n".join(json.dumps(answer, ensure_ascii=False) for answer in told))


def _submit(
    predictor: Any, examples: Sequence[Any], answers: Sequence[Any], folder: Path, source: Path | None
) -> list[Path]:
    from unmask.tasks.preset_files import part_of
    from unmask.tasks.submission import write_submission

    preset = predictor.asked.preset
    if preset is None:
        raise InputError("--submit with a model of no preset", wanted="a model fine-tuned on a public set by its name")
    told = [answer.to_dict() for answer in answers]
    if any("error" in answer for answer in told):
        raise InputError("examples that could not be answered", wanted="an answer for each", do="mend the file")
    field = {"regress": "value", "answer": "answer", "choose": "choice"}.get(preset.task, "label")
    named = part_of(preset, source) if source is not None else None
    part = named if named is not None and named in preset.submission else "test"
    without = [answer["no_answer_probability"] for answer in told] if predictor.asked.name == "squad2" else None
    said = [answer[field] for answer in told]
    return write_submission(preset, examples, said, folder, part=part, no_answer=without)
