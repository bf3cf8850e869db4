"""How fast the command answers from a cold start: fresh processes, timed until the answer is printed, in turns.

In: a model folder and how many rounds. Out: seconds of each round for `--help`, for our first filled mask, and for the
same mask filled by a transformers pipeline from the same folder. Seconds of the processor are counted too: they are the
same on a busy machine.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from unmask.errors import InputError

TEXT = "The capital of France is [MASK]."
HELP = ("-m", "unmask", "--help")
THEIRS = """
import sys
from transformers import pipeline
answers = pipeline("fill-mask", model=sys.argv[1])(sys.argv[2])
print([(answer["token_str"], answer["score"]) for answer in answers], flush=True)
"""


@dataclass(frozen=True)
class Start:
    """What one fresh process took."""

    seconds: float  # until its answer
    cpu_seconds: float  # of all cores, until its end


@dataclass(frozen=True)
class Starts:
    """The rounds of each command."""

    help: tuple[Start, ...]
    ours: tuple[Start, ...]
    theirs: tuple[Start, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Medians, our share of their time, and every round."""
        rounds = {"help": self.help, "ours": self.ours, "theirs": self.theirs}
        seconds = {name: median(start.seconds for start in starts) for name, starts in rounds.items() if starts}
        cpu = {name: median(start.cpu_seconds for start in starts) for name, starts in rounds.items() if starts}
        return {
            "what": "start",
            "unit": "seconds",
            "ours": seconds["ours"],
            "theirs": seconds.get("theirs"),
            "ratio": seconds["ours"] / seconds["theirs"] if self.theirs else None,
            "help": seconds["help"],
            "cpu_seconds": cpu,
            "rounds": {name: [start.seconds for start in starts] for name, starts in rounds.items()},
        }


def measure_starts(folder: Path, *, rounds: int = 5, against_transformers: bool = False) -> Starts:
    """Times the three in turns, so that a busy moment of the machine meets all of them."""
    commands = {"help": HELP, "ours": ("-m", "unmask", "fill", TEXT, "-m", str(folder), "--json")}
    if against_transformers:
        commands["theirs"] = ("-c", THEIRS, str(folder), TEXT)
    starts: dict[str, list[Start]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, arguments in commands.items():
            starts[name].append(time_to_answer(arguments))
    return Starts(
        **{name: tuple(taken[1:]) for name, taken in starts.items()}
    )  # the first round warms the disk's cache


def time_to_answer(arguments: Sequence[str]) -> Start:
    """Times a fresh Python from its start until it prints its first line.

    >>> 0 < time_to_answer(["-c", "print('here')"]).seconds < 60
    True
    """
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    used = _children_cpu_seconds()
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - started
        _, errors = process.communicate()
    if process.returncode or not line:
        last = errors.strip().splitlines()[-1:] or ["no answer"]
        raise InputError(f"{last[0]} from python {' '.join(arguments)[:80]}", wanted="an answer to time")
    return Start(taken, _children_cpu_seconds() - used)


def _children_cpu_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def make_folder(folder: Path, size: str, *, seed: int = 0) -> None:
    """A model of a named size with random weights and a vocabulary of the published length: enough to time."""
    from unmask.model.about import About
    from unmask.model.bert import Bert
    from unmask.model.config import BertConfig
    from unmask.model.folder import save_model
    from unmask.model.heads import BertWithHead, make_head
    from unmask.text.tokenizer import Tokenizer
    from unmask.text.vocabulary import SPECIAL_PIECES

    config = BertConfig.named(size)
    words = ["the", "capital", "of", "france", "is", "."]
    slots = [f"word{number}" for number in range(config.vocabulary_size - len(SPECIAL_PIECES) - len(words))]
    model = BertWithHead(Bert(config, seed), make_head("pretraining", config, seed=seed))
    save_model(folder, config, model, Tokenizer([*SPECIAL_PIECES, *words, *slots]), About(head="pretraining"))
