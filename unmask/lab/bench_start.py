"""How fast the command answers from a cold start: fresh processes, timed until the answer is printed, in turns.

In: a model folder and how many rounds. Out: seconds of each round for `--help`, for our first filled mask, and for the
same mask filled by a transformers pipeline from the same folder.
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
class Starts:
    """Seconds until the answer, for each round."""

    help: tuple[float, ...]
    ours: tuple[float, ...]
    theirs: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Medians, our share of their time, and every round."""
        theirs = median(self.theirs) if self.theirs else None
        return {
            "what": "start",
            "unit": "seconds",
            "ours": median(self.ours),
            "theirs": theirs,
            "ratio": median(self.ours) / theirs if theirs else None,
            "help": median(self.help),
            "rounds": {"help": list(self.help), "ours": list(self.ours), "theirs": list(self.theirs)},
        }


def measure_starts(folder: Path, *, rounds: int = 5, against_transformers: bool = False) -> Starts:
    """Times the three in turns, so that a busy moment of the machine meets all of them."""
    commands = {"help": HELP, "ours": ("-m", "unmask", "fill", TEXT, "-m", str(folder), "--json")}
    if against_transformers:
        commands["theirs"] = ("-c", THEIRS, str(folder), TEXT)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, arguments in commands.items():
            taken = time_to_answer(arguments)
            if number:  # the first brings files into the system's cache
                seconds[name].append(taken)
    return Starts(**{name: tuple(times) for name, times in seconds.items()})


def time_to_answer(arguments: Sequence[str]) -> float:
    """Seconds from the start of a fresh Python until it prints its first line.

    >>> 0 < time_to_answer(["-c", "print('here')"]) < 60
    True
    """
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
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
    return taken


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
