"""Which size of model reaches the lowest loss in a given time: a grid of sizes and numbers of steps on one core.

    OMP_NUM_THREADS=1 python benchmarks/sizes.py STORE tiny:2100 mini:390 tiny:6300 mini:1170 -o result.json

STORE is made by `unmask prepare`. Each run is a whole schedule, warm-up to zero, of so many steps. Its speed is taken
from the quickest tenth of its steps in CPU time, so that other work on the machine changes the waiting and little else.
The masked-word loss is taken on 512 held-out sequences, the same for every run. Runs that the output file already has
are not repeated.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.model.config import SIZES
from unmask.tasks.pretraining import Batches, examine
from unmask.tasks.pretraining_run import PretrainingRun, Request

# sizes below the published ones, whose break-evens come early enough to be seen: layers, width, heads
SIZES |= {"micro": (2, 32, 1), "nano": (2, 64, 1)}
CHANGES: dict[str, Any] = {"lengths": (64,), "batch_tokens": 512, "part_tokens": 512, "learning_rate": 1e-3}
EXAMINED = 512  # held-out sequences


def main() -> None:
    """Takes the runs in the order given, writing the figures after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("runs", nargs="+", metavar="SIZE:STEPS[:LEARNING_RATE]")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = json.loads(arguments.output.read_text())["rows"] if arguments.output.exists() else []
    for asked in arguments.runs:
        size, steps, *rate = asked.split(":")
        changes = CHANGES | {"steps": int(steps)} | ({"learning_rate": float(rate[0])} if rate else {})
        if not any(row["run"] == asked for row in rows):
            rows.append({"run": asked, **one_run(arguments.store, size, changes)})
            print(json.dumps(rows[-1]), flush=True)
            arguments.output.write_text(json.dumps({"unit": "nats", "rows": rows}, indent=1) + "\n")


def one_run(store: Path, size: str, changes: dict[str, Any]) -> dict[str, Any]:
    """A whole schedule, and what it reaches."""
    with tempfile.TemporaryDirectory() as folder:
        run = PretrainingRun(Request([store], Path(folder) / "run", size=size, changes=changes, save_every=1e9))
        run.pretraining.examination = []  # the steps alone are timed
        taken, last, pieces = [], time.process_time(), 0
        for standing in run.pretraining.steps():
            now = time.process_time()
            taken, last, pieces = [*taken, now - last], now, pieces + standing.step.tokens
        reached = examine(run.pretraining.learner, questions(run))
    speed = pieces / len(taken) / float(np.quantile(taken, 0.1))
    shape = {"parameters": run.config.parameters, "layers": run.config.layers, "width": run.config.width}
    figures = {"pieces": pieces, "quiet_pieces_a_second": speed, "quiet_seconds": pieces / speed}
    return {"size": size, **changes, **shape, **figures, "cpu_seconds": sum(taken), **reached}


def questions(run: PretrainingRun) -> list[Any]:
    """More held-out sequences than a run asks on its way."""
    corpus, length = run.corpus, run.settings.lengths[0]
    fixed = replace(run.settings, batch_tokens=EXAMINED * length, part_tokens=4096, seed=0)
    return Batches(corpus.store, corpus.held_out, corpus.tokenizer, fixed, words=corpus.words).parts(0, length)


if __name__ == "__main__":
    main()
