"""Which size or setting reaches the lowest loss in a given time: sizes, times of one core, settings.

    OMP_NUM_THREADS=1 python benchmarks/sizes.py STORE tiny:65 mini:130 mini:420:mask_rate=0.15,counted_start=false \\
        -o result.json

STORE is made by `unmask prepare`. Each run is a whole schedule of the `cpu` preset, warm-up to zero, in so many seconds
of CPU time, its start included: other work on the machine then changes the waiting and little else. The masked-word
loss is taken on held-out sequences, the same for every run. Runs that the output file already has are not repeated.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unmask.tasks.pretraining import examine
from unmask.tasks.pretraining_run import PretrainingRun, Request
from unmask.tasks.sizing import layer_weights
from unmask.training.half_precision import PRECISIONS
from unmask.training.loop import train
from unmask.training.schedule import Schedule

CHANGES: dict[str, Any] = {"lengths": (64,), "mask_unit": "word", "words": "jieba", "held_out": 0.01, "steps": 1}
PARTS = 10_000  # of a schedule, by which it follows the clock


def main() -> None:
    """Takes the runs in the order given, writing the figures after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("runs", nargs="+", metavar="SIZE:SECONDS[:SETTING=VALUE,…]")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = json.loads(arguments.output.read_text())["rows"] if arguments.output.exists() else []
    for asked in arguments.runs:
        if not any(row["run"] == asked for row in rows):
            size, seconds, *changes = asked.split(":")
            rows.append({"run": asked, **one_run(arguments.store, size, float(seconds), settings_of(changes))})
            print(json.dumps(rows[-1]), flush=True)
            arguments.output.write_text(json.dumps({"unit": "nats", "rows": rows}, indent=1) + "\n")


def settings_of(changes: list[str]) -> dict[str, Any]:
    """Settings that differ from the preset, their values as JSON has them; several lengths are one number here."""
    found = {name: json.loads(value) for change in changes for name, value in [p.split("=") for p in change.split(",")]}
    return found | ({"lengths": (found["lengths"],)} if "lengths" in found else {})


def one_run(store: Path, size: str, seconds: float, changes: dict[str, Any]) -> dict[str, Any]:
    """A schedule that takes so many seconds of CPU time, and what it reaches."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run = PretrainingRun(Request([store], Path(folder) / "run", size=size, changes=CHANGES | changes))
    pretraining, settings = run.pretraining, run.settings
    schedule = Schedule(settings.learning_rate, PARTS, round(settings.warmup * PARTS), settings.shape)

    def done() -> float:
        return (time.process_time() - started) / seconds

    def numbers() -> Iterator[int]:
        number = 0
        while done() < 1:
            yield number
            number += 1

    taken = train(
        pretraining.engine,
        lambda step: pretraining.batches.parts(step, settings.lengths[0]),
        pretraining.optimiser,
        lambda _: schedule(min(done(), 1) * PARTS),
        steps=numbers(),
        seed=settings.seed,
        dropout=False,
        precision=PRECISIONS[settings.precision],
    )
    tokens = [step.tokens for step in taken]
    reached = examine(pretraining.learner, pretraining.examination)
    pieces = {"steps": len(tokens), "pieces": sum(tokens), "pieces_a_weight": sum(tokens) / layer_weights(run.config)}
    return {"size": size, "seconds": seconds, **pieces, "unigram_loss": run.unigram_loss, **reached}


if __name__ == "__main__":
    main()
