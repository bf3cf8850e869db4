"""`make demo`: the main job through the real commands, on text that every Python has, shown as it goes.

Everything is written to `demo/`: text, vocabulary, the model and its curve, and a classifier made of it, with a report.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FOLDER = Path("demo")
GATHER = f"python recipes/standard_library_text.py {FOLDER}/python.txt {FOLDER}/packages.csv"
LEARN = [
    f"unmask vocab learn {FOLDER}/python.txt -o {FOLDER}/vocab.txt --size 2000",
    # short rows and small steps learn most in so little time; on a busy machine several threads wait for one another
    f"unmask pretrain {FOLDER}/python.txt -o {FOLDER}/bert --vocab {FOLDER}/vocab.txt --size tiny"
    " --length 32 --batch-tokens 512 --budget 160s --threads 1",
]
TUNE = [
    f"unmask finetune classify -m {FOLDER}/bert --train {FOLDER}/packages.csv -o {FOLDER}/packages"
    " --epochs 6 --lr 5e-4 --threads 1",
    f"unmask predict {FOLDER}/packages 'Parse the headers of a message.' 'Wait until the task is done.' --threads 1",
]
ASK = [
    f"unmask fill 'Return a new [MASK] with the same items.' -m {FOLDER}/bert",
    f"unmask fill 'Open a [MASK] for reading.' 'The default value [MASK] None.' -m {FOLDER}/bert",
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
    print(f"the curve as a picture: {FOLDER}/bert/curve.png")
    say("3. Ask it")
    for command in ASK:
        run(command)
    say("4. Teach it a task: which package is a sentence from?")
    for command in TUNE:
        run(command)
    print(f"the report with pictures: {FOLDER}/packages/report.html")
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


NEXT = f"""
  unmask fill "Raises an exception if the [MASK] is empty." -m {FOLDER}/bert     ask your own
  unmask finetune classify -m my-bert --train reviews.csv -o sentiment     a task of your own, from a table
  unmask pretrain my-texts/ -o my-bert --budget 30m                        the same with your own text
  unmask --help                                                            all commands
  docs/tutorials/01-published-bert.md                                      use a published BERT
  docs/path.md                                                             one sentence through the whole of it
"""

if __name__ == "__main__":
    main()
