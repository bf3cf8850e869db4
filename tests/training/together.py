"""Pretrainings for the tests of many processes: a small store, and requests that torchrun's workers take in turn.

`python -m torch.distributed.run … together.py CASES` takes the requests of a JSON file one after another with the same
processes, as starting them costs seconds.
"""

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from unmask.data.prepare import prepare
from unmask.tasks.pretraining_run import PretrainingRun, Request
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES
from unmask.training.distributed import ALONE, Processes, joined

SUBJECTS = ["the cat", "a dog", "our teacher", "the old king", "my sister", "a small bird", "the river", "the moon"]
VERBS = ["sees", "likes", "follows", "finds", "carries", "forgets", "paints", "hears"]
OBJECTS = ["the house", "a red apple", "the mountain", "some bread", "the garden", "a letter", "the sea", "every star"]
WORDS = sorted({word for phrase in [*SUBJECTS, *VERBS, *OBJECTS] for word in phrase.split()} | {"."})
SETTINGS = {
    "steps": 4,
    "optimiser": "adamw",
    "lengths": (32,),
    "batch_tokens": 16 * 32,
    "part_tokens": 4 * 32,  # four parts, so that each of two processes adds up two
    "dropout": 0.1,
    "precision": "float32",  # of which both sums are to agree
    "held_out": 0.1,
}


def make_store(folder: Path) -> Path:
    """A store of a hundred short stories."""
    chance = random.Random(0)
    choose = chance.choice
    stories = [
        "\n".join(f"{choose(SUBJECTS)} {choose(VERBS)} {choose(OBJECTS)}." for _ in range(chance.randint(3, 9)))
        for _ in range(100)
    ]
    folder.mkdir(parents=True)
    (folder / "stories.txt").write_text("\n\n".join(stories), encoding="utf-8")
    prepare([folder / "stories.txt"], folder / "store", Tokenizer([*SPECIAL_PIECES, *WORDS]), threads=1)
    return folder / "store"


def pretrain(
    store: str,
    folder: str,
    processes: Processes = ALONE,
    *,
    shard: bool = False,
    save_every: float = 60.0,
    **changes: Any,
) -> None:
    """A run of a few steps."""
    settings = SETTINGS | changes
    request = Request([Path(store)], Path(folder), size="tiny", changes=settings, save_every=save_every, shard=shard)
    PretrainingRun(request, processes=processes).finish(lambda _: None)


if __name__ == "__main__":
    with joined(os.environ) as processes:
        for case in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
            pretrain(processes=processes, **case)
