"""How fast two trees of the code pretrain, in turns, in pieces a second.

    python benchmarks/two_trees.py STORE BEFORE AFTER -o result.json -- --from default --batch-tokens 8192

STORE is made by `unmask prepare`; a tree is a folder with `unmask/` in it, such as one of `git worktree`. What follows
`--` are flags of `unmask pretrain`. Every turn is a short run of its own with one thread; its figure is the median over
its steps, the first few left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WARM_UP, STEPS = 5, 45


def main() -> None:
    """Lets the trees take turns, and writes their figures and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    given, flags = parser.parse_known_args()
    flags = [flag for flag in flags if flag != "--"]
    rates: dict[str, list[float]] = {"before": [], "after": []}
    for _ in range(given.turns):
        for name, found in rates.items():
            found.append(pieces_a_second(getattr(given, name), given.store, flags))
    ratios = [after / before for before, after in zip(*rates.values(), strict=True)]
    figures = {"unit": "pieces/s", **rates, "ratio": statistics.median(ratios), "ratios": ratios}
    print(json.dumps(figures, indent=1))
    if given.output:
        given.output.write_text(json.dumps(figures, indent=1) + "\n")


def pieces_a_second(tree: Path, store: Path, flags: list[str]) -> float:
    """A short run of one tree, started afresh."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "unmask", "pretrain", str(store.resolve()), "-o", str(run), *flags]
        command += ["--steps", str(STEPS), "--held-out", "0", "--threads", "1", "--quiet"]
        environment = os.environ | {"PYTHONPATH": str(tree.resolve()), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
        events = [json.loads(line) for line in (run / "speed.jsonl").read_text(encoding="utf-8").splitlines()]
    return statistics.median(event["tokens_per_second"] for event in events[WARM_UP:])


if __name__ == "__main__":
    main()
