"""How many examples a second exported models answer, in turns with plain transformers loops.

The trials of `bench_finetune`: the same model and the same rows in the order of their file. Ours are serving folders in
float32 and int8, as `unmask export` writes them; theirs are batches in that order or shortest first. Each side has a
process of its own.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from unmask.compress.export import export
from unmask.compress.quantize import quantize
from unmask.lab.bench_finetune import ORDERS, Rounds, Trial, their_prediction
from unmask.lab.sides import Side, Work, in_turns
from unmask.model.about import About
from unmask.model.folder import open_model, save_model
from unmask.runtime.folder import open_serving

FORMS = {"prediction_exported": "float32", "prediction_int8": "int8"}  # work: the serving folder that does it


def measure_exported(trial: Trial, *, rounds: int, against_transformers: bool) -> dict[str, Rounds]:
    """Prediction by both serving folders, all sides in turns, every round through the same examples."""
    with TemporaryDirectory() as folder:
        write_forms(trial, Path(folder))
        sides = {"ours": Side(partial(our_works, trial, Path(folder)))}
        if against_transformers:
            sides |= {order: Side(partial(their_works, trial, order)) for order in ORDERS}
        measured = in_turns(sides, [*FORMS], rounds=rounds)
    return {work: Rounds(**speeds) for work, speeds in measured.items()}


def write_forms(trial: Trial, folder: Path) -> None:
    """The trial's model as serving folders."""
    about = About(trial.task.head, task=trial.task.kind, labels=tuple(getattr(trial.task, "labels", ())))
    save_model(folder / "model", trial.config, trial.model, trial.tokenizer, about)
    opened = open_model(folder / "model")
    export(opened, folder / "float32")
    quantize(opened, folder / "int8")


def our_works(trial: Trial, folder: Path) -> dict[str, Work]:
    """What the head says of all rows, by each form."""
    return {work: our_prediction(trial, folder / form) for work, form in FORMS.items()}


def our_prediction(trial: Trial, folder: Path) -> Work:
    """One serving folder, opened as `unmask predict` opens it."""
    engine = open_serving(folder).engine

    def go() -> int:
        engine.outputs(trial.rows)
        return len(trial.examples)

    return go


def their_works(trial: Trial, order: str) -> dict[str, Work]:
    """The same by transformers in float32, whichever form it is compared with."""
    return dict.fromkeys(FORMS, their_prediction(trial, by_length=order == "bucketed"))
