"""Whether `--budget` keeps its word: real commands with a budget, timed from their start to their exit.

    python benchmarks/budget.py STORE tiny:90s mini:3m tiny:3m:2 -o result.json

STORE is made by `unmask prepare`. SIZE:BUDGET is one command in one process; `:2` starts it as two with torchrun, whose
own start is counted too. Runs that the output file already has are not repeated.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from unmask.cli.pretrain import parse_duration

SETTINGS = ["--length", "64", "--batch-tokens", "512"]


def main() -> None:
    """Takes the runs in the order given, writing the figures after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("runs", nargs="+", metavar="SIZE:BUDGET[:PROCESSES]")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = json.loads(arguments.output.read_text())["rows"] if arguments.output.exists() else []
    for asked in arguments.runs:
        if not any(row["run"] == asked for row in rows):
            rows.append({"run": asked, **timed(arguments.store, *asked.split(":"))})
            print(json.dumps(rows[-1]), flush=True)
            arguments.output.write_text(json.dumps({"unit": "s", "rows": rows}, indent=1) + "\n")


def timed(store: Path, size: str, budget: str, processes: str = "1") -> dict[str, Any]:
    """A command from its start to its exit."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", processes]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *(launch if processes != "1" else []), "-m", "unmask", "pretrain", str(store)]
        command += ["-o", f"{folder}/run", "--size", size, "--budget", budget, *SETTINGS, "--json", "--quiet"]
        started = time.monotonic()
        ended = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
        seconds = time.monotonic() - started
        assert ended.returncode == 0, ended.stderr
        plans = len(json.loads((Path(folder) / "run" / "pace.json").read_text())["knots"]) - 1
        last = json.loads((Path(folder) / "run" / "run.jsonl").read_text().splitlines()[-1])
    outcome, asked = json.loads(ended.stdout), parse_duration(budget)
    figures = {"budget": asked, "seconds": seconds, "share": seconds / asked, "trained": outcome["seconds"]}
    return figures | {"steps": outcome["steps"], "plans": plans, "last_learning_rate": last["learning_rate"]}


if __name__ == "__main__":
    main()
