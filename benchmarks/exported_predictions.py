"""How many examples a second exported models answer, in turns with plain transformers loops.

    python benchmarks/exported_predictions.py DATA -o benchmarks/records/DATE_predictions/result.json [--rounds 5]

The trials of `unmask bench finetune`: MiniLM with a fresh head, texts of SST-2 and questions of SQuAD in the order of
their files. Ours are serving folders in float32 and int8 (`unmask export`), theirs batches in the order of the file or
shortest first; each side has a process of its own, the first round is not counted.
"""

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from unmask.compress.export import export
from unmask.compress.quantize import quantize
from unmask.lab.bench_finetune import Trial, make_trial, their_prediction
from unmask.lab.sides import Side, Work, in_turns
from unmask.model.about import About
from unmask.model.folder import open_model, save_model
from unmask.runtime.folder import open_serving

SETS = {"classify": "glue/SST-2", "answer": "squad"}
PREDICTION = "prediction"
RIVALS = {"theirs": False, "sorted": True}  # whether shortest first


def main() -> None:
    """Measures both tasks and writes every round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    measured = {
        kind: measure(make_trial(kind, given.data / name, "minilm"), given.rounds) for kind, name in SETS.items()
    }
    given.output.write_text(json.dumps({"unit": "examples per second", **measured}, indent=1) + "\n")


def measure(trial: Trial, rounds: int) -> dict[str, list[float]]:
    """Examples a second of every side, round by round."""
    with tempfile.TemporaryDirectory() as folder:
        forms = serving_folders(trial, Path(folder))
        sides = {form: Side(partial(ours, trial, path)) for form, path in forms.items()}
        sides |= {name: Side(partial(theirs, trial, by_length)) for name, by_length in RIVALS.items()}
        speeds = in_turns(sides, [PREDICTION], rounds=rounds)[PREDICTION]
    for form in forms:
        times = {name: median(a / b for a, b in zip(speeds[form], speeds[name], strict=True)) for name in RIVALS}
        print(f"{trial.task.kind}, {form}: {median(speeds[form]):.1f} a second, times {times}")
    return {name: list(found) for name, found in speeds.items()}


def serving_folders(trial: Trial, folder: Path) -> dict[str, Path]:
    """The trial's model, exported in both forms."""
    about = About(trial.task.head, task=trial.task.kind, labels=tuple(getattr(trial.task, "labels", ())))
    save_model(folder / "model", trial.config, trial.model, trial.tokenizer, about)
    opened = open_model(folder / "model")
    export(opened, folder / "float32")
    quantize(opened, folder / "int8")
    return {form: folder / form for form in ("float32", "int8")}


def ours(trial: Trial, folder: Path) -> dict[str, Work]:
    """What the head says of all rows."""
    engine = open_serving(folder).engine

    def go() -> int:
        engine.outputs(trial.rows)
        return len(trial.examples)

    return {PREDICTION: go}


def theirs(trial: Trial, by_length: bool) -> dict[str, Work]:
    """The same by transformers."""
    return {PREDICTION: their_prediction(trial, by_length=by_length)}


if __name__ == "__main__":
    main()
