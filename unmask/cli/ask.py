"""The verb `ask`: a question and text files in, the span of them that answers it out, or that they do not say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.apps import Device, Model, percent_done
from unmask.cli.console import Answer, Console, verb

if TYPE_CHECKING:
    from unmask.apps.answer import Found

SHOWN = 5  # candidates
LONG_READ = 20_000  # characters that take a while


@verb
def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help='For instance "Who lit the lamp?"')],
    files: Annotated[list[Path], typer.Option("--in", metavar="FILE...", help="Text files, .txt or .md.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="More files of --in.")] = None,
    model: Model = "default:answers",
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Find the answer to a question in text files."""
    from unmask.apps.answer import AnswerFinder, read_passages
    from unmask.apps.predict import open_any, the_model

    passages = read_passages([*files, *(more or [])])
    opened = open_any(model, device=device)
    find = AnswerFinder(the_model(opened), opened.tokenizer, opened.about)
    with percent_done(console, "reading", shown=sum(len(passage.text) for passage in passages) > LONG_READ) as report:
        found = find(question, passages, report=report or (lambda *_: None))
    return Answer(found.to_dict(), _words(found))


def _words(found: "Found") -> str:
    told = found.answered
    lines = [f"{'(no answer)' if found.answer is None else found.answer}  ({told.score:.3f})"]
    for span, source in zip(told.nbest[:SHOWN], found.sources, strict=False):
        lines.append(f"  {span.score:.3f}  {source}, characters {span.start:,}–{span.end:,}: {span.answer}")
    return "\n".join(lines)
