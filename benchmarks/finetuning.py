"""Fine-tuning scores of many data sets, one run after the other: a plan in, a table as JSON out.

    OMP_NUM_THREADS=1 python benchmarks/finetuning.py DATA PLAN.txt -o result.json [--threads 1] [--work runs/scores]

A line of the plan is a task, a model, and what else `unmask finetune` takes; `{data}` stands for the folder DATA:

    sst2 minilm --train {data}/glue/SST-2 --lr 1e-4
    stsb-towers minilm --task embed --train {data}/glue/STS-B

The first word names the row; `--task` says what is run where that is another. The model `fresh:NAME` is the named one's
architecture and vocabulary with weights by chance: what a score is without pretraining. Rows that the output has are
not run again, and an interrupted run goes on where it was: a plan of hours can be taken in pieces.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.folder import open_model, save_model

FRESH = "fresh:"
KEPT = ("task", "metric", "score", "scores", "interval", "seconds", "examples_per_second", "epochs", "steps")


def main() -> None:
    """Runs what is left of the plan, writing the table after each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/scores"), help="Where the models go.")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(given.output.read_text())["rows"] if given.output.exists() else []
    for line in given.plan.read_text(encoding="utf-8").splitlines():
        asked = line.partition("#")[0].strip()
        if asked and not any(row["run"] == asked for row in rows):
            rows.append({"run": asked, **one_run(asked, given.data, given.work, given.threads)})
            print(json.dumps(rows[-1]), flush=True)
            given.output.write_text(json.dumps({"threads": given.threads, "rows": rows}, indent=1) + "\n")


def one_run(asked: str, data: Path, work: Path, threads: int) -> dict[str, Any]:
    """A fine-tuning as a user would run it, and what it says of itself."""
    name, model, *flags = shlex.split(asked.replace("{data}", str(data)))
    task = flags.pop(flags.index("--task") + 1) if "--task" in flags else name
    flags = [flag for flag in flags if flag != "--task"]
    folder = work / "-".join("".join(c if c.isalnum() else " " for c in asked).split())[-150:]
    model = fresh(model.removeprefix(FRESH), work) if model.startswith(FRESH) else model
    command = [sys.executable, "-m", "unmask", "finetune", task, "-m", model, "-o", str(folder), *flags]
    started = time.monotonic()
    said = subprocess.run(
        [*command, "--threads", str(threads), "--json", "--quiet"], stdout=subprocess.PIPE, check=True
    )
    answer = json.loads(said.stdout)
    return {"wall_seconds": round(time.monotonic() - started), **{key: answer[key] for key in KEPT if key in answer}}


def fresh(name: str, work: Path) -> str:
    """A folder with a model's shape and tokenizer and with fresh weights."""
    opened, folder = open_model(name), work / f"fresh-{Path(name).name}"
    if not folder.exists():
        save_model(folder, opened.config, Bert(opened.config), opened.tokenizer, About())
    return str(folder)


if __name__ == "__main__":
    main()
