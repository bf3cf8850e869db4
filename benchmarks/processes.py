"""How fast two processes pretrain against one, on this machine, in pieces a second.

    python benchmarks/processes.py STORE -o benchmarks/records/DATE_processes/result.json

STORE is made by `unmask prepare`. One process with a thread, one with two, two with a thread each (DDP), and two that
divide the weights (FSDP2) take their turns. A run's figure is the median over its steps, the first few left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LAUNCH = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
WAYS: dict[str, tuple[list[str], int, list[str]]] = {
    "one process, 1 thread": ([], 1, []),
    "one process, 2 threads": ([], 2, []),
    "two processes, DDP": (LAUNCH, 1, []),
    "two processes, --shard": (LAUNCH, 1, ["--shard"]),
}
TURNS, STEPS, WARM_UP = 5, 16, 4


def main() -> None:
    """Runs every way in turn and writes the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--size", default="tiny")
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(TURNS):
        for name in WAYS:
            rates[name].append(pieces_a_second(name, arguments.store, arguments.size, arguments.batch_tokens))
    first = rates["one process, 1 thread"]
    rows = []
    for name, found in rates.items():
        ratios = [rate / one for rate, one in zip(found, first, strict=True)]
        spread = {"median": statistics.median(found), "low": min(found), "high": max(found)}
        rows.append({"way": name, **spread, "ratio": statistics.median(ratios), "ratios": ratios})
        print("{way:24} {median:8,.0f} ({low:,.0f} to {high:,.0f}) × {ratio:.2f}".format(**rows[-1]))
    if arguments.output:
        figures = {"unit": "pieces/s", "size": arguments.size, "batch_tokens": arguments.batch_tokens, "turns": TURNS}
        arguments.output.write_text(json.dumps({**figures, "rows": rows}, indent=1) + "\n")


def pieces_a_second(name: str, store: Path, size: str, batch_tokens: int) -> float:
    """A short run, started afresh."""
    launch, threads, flags = WAYS[name]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        parts = ["--batch-tokens", str(batch_tokens), "--part-tokens", str(batch_tokens // 2)]
        command = [sys.executable, *launch, "-m", "unmask", "pretrain", str(store), "-o", str(run), "--size", size]
        command += [*parts, "--steps", str(STEPS), "--held-out", "0", "--quiet", *flags]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        events = [json.loads(line) for line in (run / "speed.jsonl").read_text().splitlines()]
    return statistics.median(event["tokens_per_second"] for event in events[WARM_UP:])


if __name__ == "__main__":
    main()
