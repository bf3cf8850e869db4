"""The verb `bias`: what swapped names and places do to the answers of a model that judges texts."""

from typing import Annotated

import typer

from unmask.cli.apps import Device
from unmask.cli.console import Answer, Console, verb


@verb
def bias(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder that gives texts a class or a value.")],
    device: Device = "cpu",
    *,
    console: Console,
) -> Answer:
    """Ask whether names and places that should make no difference change a model's answers."""
    from unmask.errors import InputError
    from unmask.model.folder import open_model
    from unmask.model.heads import BertWithHead
    from unmask.tasks.bias import judge_of, probe_bias
    from unmask.tasks.kinds import task_of

    opened = open_model(model, device=device)
    if opened.about.head not in ("classes", "regression"):
        raise InputError(f"{model}, which gives texts no class and no value", wanted="a fine-tuned model that does")
    assert isinstance(opened.model, BertWithHead)
    task = task_of(opened.about, opened.config.positions)
    found = probe_bias(task, judge_of(task, opened.model, opened.tokenizer), opened.tokenizer)
    assert found is not None, "classes and values can always be asked for"
    console.note("of sentences in which nothing but a name or a place differs; * is neither chance nor small")
    return Answer(found.to_dict(), found.in_words())
