"""`make demo`: the main job through the real commands, on text that every Python has, shown as it goes.

Everything is written to `demo/`: text, vocabulary, the model and its curve.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FOLDER = Path("demo")
BUDGET = "100s"
GATHER = f"python recipes/standard_library_text.py {FOLDER}/python.txt"
LEARN = [
    f"unmask vocab learn {FOLDER}/python.txt -o {FOLDER}/vocab.txt --size 4000",
    f"unmask pretrain {FOLDER}/python.txt -o {FOLDER}/bert --vocab {FOLDER}/vocab.txt --size tiny --budget {BUDGET}",
]
ASK = [
    f"unmask fill 'Return a new [MASK] with the same items.' -m {FOLDER}/bert",
    f"unmask fill 'If the file does not [MASK], an error is raised.' -m {FOLDER}/bert",
    f"unmask next 'Open the file for reading.' 'The file must exist.' -m {FOLDER}/bert",
    f"unmask features 'Return the length of a list.' --layers -1,-2 -m {FOLDER}/bert -o {FOLDER}/features.npy",
    f"unmask info {FOLDER}/bert",
]


def main() -> None:
    """Gathers text, learns from it, asks the model, and says where to look next."""
    started = time.monotonic()
    os.chdir(PROJECT)
    shutil.rmtree(FOLDER, ignore_errors=True)
    say("1. Text that every Python has: the documentation of its standard library")
    run(GATHER)
    say("2. A vocabulary for it, and a BERT of size tiny that learns to fill masks and to tell which sentence follows")
    for command in LEARN:
        run(command)
    print(curve([event["loss"] for event in read_journal()]))
    print(f"   the loss over the steps; as a picture: {FOLDER}/bert/curve.png")
    say("3. Ask it")
    for command in ASK:
        run(command)
    say(f"Done in {time.monotonic() - started:.0f} seconds. Where to look next")
    print(NEXT)


def say(line: str) -> None:
    """A heading."""
    print(f"\n\033[1m{line}\033[0m" if sys.stdout.isatty() else f"\n{line}", flush=True)


def run(command: str) -> None:
    """Shows a command and runs it with the Python that runs this."""
    print(f"\n$ {command}", flush=True)
    words = shlex.split(command)
    if subprocess.run([Path(sys.executable).parent / words[0], *words[1:]]).returncode:
        raise SystemExit(f"demo: the command above failed; everything before it is in {FOLDER}/")


def read_journal() -> list[dict[str, float]]:
    """What the training wrote down, a line for each step."""
    return [json.loads(line) for line in (FOLDER / "bert" / "run.jsonl").read_text(encoding="utf-8").splitlines()]


def curve(values: Sequence[float], width: int = 64, height: int = 10) -> str:
    """A line over time, drawn with characters: each column the mean of its share of the values.

    >>> print(curve([4, 3, 2, 2, 1, 1], width=6, height=4))
     4.00 |*
          | *
          |  **
     1.00 |    **
    """
    edges = [round(place * len(values) / width) for place in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges) if b > a]
    low, high = min(means), max(means)
    rows = [round((high - mean) / ((high - low) or 1) * (height - 1)) for mean in means]
    labels = {0: f"{high:5.2f}", height - 1: f"{low:5.2f}"}
    lines = ["".join("*" if row == line else " " for row in rows).rstrip() for line in range(height)]
    return "\n".join(f"{labels.get(number, ''):>5} |{line}" for number, line in enumerate(lines))


NEXT = f"""
  unmask fill "Raises an exception if the [MASK] is empty." -m {FOLDER}/bert     ask your own
  unmask pretrain my-texts/ -o my-bert --budget 30m                        the same with your own text
  unmask --help                                                            all commands
  docs/tutorials/01-published-bert.md                                      use a published BERT
  docs/path.md                                                             one sentence through the whole of it
"""

if __name__ == "__main__":
    main()
