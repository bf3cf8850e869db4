"""The same fine-tuning twice, by unmask and by a plain transformers loop: GLUE in, both scores of every seed out.

    OMP_NUM_THREADS=1 python benchmarks/paired.py DATA -o result.json [--examples 2000] [--seeds 0 1 2]

DATA has `glue/SST-2`, of which the first examples are learned from, and `glue/MRPC`, of which all are. Both sides start
from the same weights, those of the fresh head included, and take the same examples in the same batches and order, with
the same AdamW (decay, epsilon), clipping, learning rate at every step and dropout rate; the last step is measured. What
differs is what dropout draws, that their batches are padded, and rounding: with `--dropout 0` only rounding is left.

Rows (a set, a side, a seed) that the output has are not run again, and ours goes on where it was interrupted. The
difference, ours less theirs, has two 95 % intervals: over seeds (Student's t), and over the dev examples, drawn anew in
pairs with all seeds' answers.
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from unmask.files import write_text
from unmask.lab.bench_finetune import Trial, their_collator, their_features, their_model
from unmask.lab.bench_pretrain import their_learning
from unmask.model.outputs import outputs_of
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.metrics import METRICS
from unmask.tasks.preset_files import find_files
from unmask.tasks.presets import PRESETS
from unmask.tasks.resampling import interval
from unmask.text.streams import open_bytes
from unmask.training.schedule import Schedule

SETS = ("sst2", "mrpc")
EPSILON = 1e-6  # of AdamW, as BERT was published; torch's own is 1e-8
AT_ONCE = 32  # dev examples that their model measures together
RECIPE = ("model", "learning_rate", "epochs", "batch_size", "dropout", "examples", "pairs", "dev_examples")
Logits = list[NDArray[np.float32]]


def main() -> None:
    """Runs the rows that are left, writing the table after each."""
    given = parse()
    torch.set_num_threads(1)
    recipe = {name: getattr(given, name) for name in RECIPE}
    rows = earlier_rows(given.output, recipe)
    for name in given.sets:
        for seed in given.seeds:
            for side in SIDES:
                if not any((row["set"], row["seed"], row["side"]) == (name, seed, side) for row in rows):
                    rows.append({"set": name, "seed": seed, "side": side, **one_row(name, seed, side, given)})
                    print(json.dumps({key: value for key, value in rows[-1].items() if key != "given"}), flush=True)
                    write(given, recipe, rows)
    shutil.rmtree(given.work, ignore_errors=True)


def parse() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("-m", "--model", default="minilm")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2))
    parser.add_argument("--examples", type=int, default=2000, help="The first of SST-2 to learn from.")
    parser.add_argument("--pairs", type=int, help="The first of MRPC to learn from; all if none are named.")
    parser.add_argument("--dev-examples", type=int, help="The first to measure on; all if none are named.")
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--work", type=Path, default=Path("runs/paired"), help="Where runs go; removed at the end.")
    return parser.parse_args()


def earlier_rows(output: Path, recipe: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of an earlier sitting, which must have had the same recipe."""
    if not output.exists():
        return []
    found = json.loads(output.read_text(encoding="utf-8"))
    if found["recipe"] != recipe:
        sys.exit(f"{output}: made with {found['recipe']}, not {recipe}; choose another file")
    rows: list[dict[str, Any]] = found["rows"]
    return rows


def one_row(name: str, seed: int, side: str, given: argparse.Namespace) -> dict[str, Any]:
    """A fine-tuning by one side, and what its model says of the dev examples."""
    run = prepared(name, seed, given, given.work / f"{name}-{seed}-{side}")
    started, used = time.monotonic(), time.process_time()
    outputs = SIDES[side](run)
    answers = run.task.answers(run.dev, run.tuning.dev_rows, outputs)
    return {
        "scores": run.task.scores(run.dev, answers),
        "steps": run.tuning.steps,
        "examples": len(run.training),
        "seconds": round(time.monotonic() - started, 1),
        "processor_seconds": round(time.process_time() - used, 1),
        "given": "".join(answer.label for answer in answers),  # labels of both sets are single characters
    }


def prepared(name: str, seed: int, given: argparse.Namespace, folder: Path) -> FineTuningRun:
    """The fine-tuning as `unmask finetune` would begin it; it is measured once, at its end."""
    most = {"sst2": given.examples, "mrpc": given.pairs}[name]
    changes = {name: getattr(given, name) for name in ("learning_rate", "epochs", "batch_size", "dropout")}
    return FineTuningRun(
        Request(
            name,
            given.model,
            first_lines(name, "train", most, given),
            folder,
            dev=first_lines(name, "dev", given.dev_examples, given),
            changes={**changes, "seed": seed, "evaluations": 1 / given.epochs, "precision": "float32"},
        )
    )


def first_lines(name: str, part: str, count: int | None, given: argparse.Namespace) -> Path:
    """The header of a part and so many of its rows, or all, as a file."""
    [source, *_] = find_files(PRESETS[name], given.data / "glue" / PRESETS[name].folder)[part]
    file: Path = given.work / f"{name}-{part}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    with open_bytes(source) as stream:
        file.write_bytes(b"".join(islice(stream, None if count is None else count + 1)))
    return file


def ours(run: FineTuningRun) -> Logits:
    """Learns through the one loop."""
    run.tuning.resume()
    for _ in run.tuning.train():
        pass
    return outputs_of(run.model, run.tuning.dev_rows)


def theirs(run: FineTuningRun) -> Logits:
    """Learns in a plain loop, from the weights that our run would start with."""
    settings, steps = run.settings, run.tuning.steps
    trial = Trial(run.task, run.opened.tokenizer, run.config, run.model, (), [], settings.batch_size)
    torch.manual_seed(settings.seed)
    model, collate = their_model(trial).train(), their_collator(trial)
    optimiser = torch.optim.AdamW(decayed(model, settings.decay), lr=settings.learning_rate, eps=EPSILON)
    shape = Schedule(1.0, steps, round(settings.warmup * steps), settings.shape)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, shape)
    for step in range(steps):
        rows = [row for unit in run.tuning.batches.chosen(step) for row in unit]
        their_learning(model, optimiser, collate(their_features(replace(trial, rows=rows))))
        schedule.step()
    return measured(model.eval(), their_features(replace(trial, rows=run.tuning.dev_rows)), collate)


SIDES: dict[str, Callable[[FineTuningRun], Logits]] = {"ours": ours, "theirs": theirs}


def decayed(model: Any, decay: float) -> list[dict[str, Any]]:
    """Parameters as every script groups them: no decay for biases and norms."""
    groups: dict[float, list[Any]] = {decay: [], 0.0: []}
    for name, value in model.named_parameters():
        groups[0.0 if name.endswith("bias") or "LayerNorm" in name else decay].append(value)
    return [{"params": values, "weight_decay": rate} for rate, values in groups.items()]


def measured(model: Any, features: Sequence[dict[str, Any]], collate: Callable[[Any], Any]) -> Logits:
    """Their logits for rows, in their order."""
    found: Logits = []
    for start in range(0, len(features), AT_ONCE):
        with torch.inference_mode():
            found += list(model(**collate(list(features[start : start + AT_ONCE]))).logits.numpy())
    return found


def write(given: argparse.Namespace, recipe: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """Writes the table: every row, and of each set the seeds that both sides have, compared."""
    pairs = []
    for name in dict.fromkeys(row["set"] for row in rows):
        dev = PRESETS[name].read(first_lines(name, "dev", given.dev_examples, given)).examples
        pairs.append(summary(name, [row for row in rows if row["set"] == name], [example.label for example in dev]))
    write_text(given.output, json.dumps({"recipe": recipe, "pairs": pairs, "rows": rows}, indent=1) + "\n")


def summary(name: str, rows: Sequence[dict[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    """Both scores of every seed that both sides have, their differences and what may be said of their mean."""
    metric = PRESETS[name].metrics[0]
    found = {(row["side"], row["seed"]): row for row in rows}
    seeds = [seed for side, seed in found if side == "ours" and ("theirs", seed) in found]
    both = [(found["ours", seed]["scores"][metric], found["theirs", seed]["scores"][metric]) for seed in seeds]
    told: dict[str, Any] = {"set": name, "metric": metric}
    told["seeds"] = [
        {"seed": seed, "ours": ours, "theirs": theirs, "difference": ours - theirs}
        for seed, (ours, theirs) in zip(seeds, both, strict=True)
    ]
    if not seeds:
        return told
    differences = [ours - theirs for ours, theirs in both]
    answers = [[list(found[side, seed]["given"]) for seed in seeds] for side in SIDES]  # (2, seeds, N)
    return told | {
        "mean": float(np.mean(differences)),
        "over_seeds": over_seeds(differences),
        "over_examples": over_examples(metric, list(labels), np.array(answers)),
    }


def over_seeds(differences: Sequence[float]) -> list[float] | None:
    """The interval of the mean of paired differences; none of a single one.

    >>> [round(end, 3) for end in over_seeds([0.01, 0.02, 0.03])]
    [-0.005, 0.045]
    """
    if len(differences) < 2:
        return None
    reach = stats.t.ppf(0.975, len(differences) - 1) * np.std(differences, ddof=1) / np.sqrt(len(differences))
    return [float(np.mean(differences) - reach), float(np.mean(differences) + reach)]


def over_examples(metric: str, labels: Sequence[str], answers: NDArray[np.str_]) -> list[float]:
    """The interval of the mean difference when examples are drawn anew, each with all its answers."""  # (2, seeds, N)
    table = np.concatenate([np.array(labels)[:, None], answers.reshape(-1, len(labels)).T], axis=1)  # (N, 1 + 2 seeds)
    seeds = answers.shape[1]

    def difference(drawn: NDArray[Any]) -> float:
        scores = [METRICS[metric](drawn[:, 0], column) for column in drawn[:, 1:].T]
        return float(np.mean(scores[:seeds]) - np.mean(scores[seeds:]))

    return list(interval(table, lambda samples: np.array([difference(drawn) for drawn in samples])))


if __name__ == "__main__":
    main()
