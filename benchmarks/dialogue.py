"""How often the real reply is chosen among ten, by words, an untrained encoder, the tower, the cross-encoder, and all.

    python benchmarks/dialogue.py en DATA -o WORK      # DailyDialog, minilm
    python benchmarks/dialogue.py zh DATA -o WORK      # KdConv, default

DATA is the folder of the public sets. WORK keeps the models: what was begun there goes on, what is finished is not done
again. `--stage tower` measures without a cross-encoder. Test dialogues that stand in train word for word (69
of DailyDialog's 1,000) are left out. Figures are printed as JSON, with the processor time of each stage that was taken
in this process, and what parts add on the same pools: the mean difference, its 95 % interval and p by sign flips.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps.chat_measures import (
    Pool,
    Ranked,
    by_vectors,
    by_words,
    first_shares,
    make_pools,
    ranked,
    reciprocal_ranks,
)
from unmask.apps.chat_models import Learning, learn_cross, learn_tower
from unmask.apps.predict import Predictor
from unmask.apps.reply_scores import PoolNumbers, learn_weights, reading_helps
from unmask.apps.vectors import TextVectors
from unmask.data.dialogues import Dialogue, exchanges, read_dialogues
from unmask.decode.words import Floats
from unmask.tasks.finetuning_run import FineTuningRun, Outcome
from unmask.tasks.resampling import interval
from unmask.tasks.sign_flips import paired_p

DEV, DEV_READ = 150, 60  # held-out exchanges looked at while tower and cross-encoder learn
WEIGHED = 150  # pools of the training's held-out dialogues by which the parts are weighed


@dataclass(frozen=True)
class Setting:
    """What is learned from and measured on."""

    train: tuple[str, ...]  # patterns of files
    test: tuple[str, ...]
    dialogues: int  # of train, the first
    learning: Learning


SETTINGS = {
    "en": Setting(
        ("dailydialog/dialogues_train.txt.gz",),
        ("dailydialog/dialogues_validation.txt",),
        2500,
        Learning("minilm", most=2400, most_read=3000),
    ),
    "zh": Setting(
        ("kdconv/*/dev.json*",),
        ("kdconv/*/test.json*",),
        450,
        Learning("default", most=3000, most_read=3000),
    ),
}


def main() -> None:
    """Learns what is not learned yet, and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=SETTINGS)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--stage", choices=("tower", "cross"), default="cross")
    parser.add_argument("--pools", type=int, default=500)
    given = parser.parse_args()
    setting, seconds = SETTINGS[given.language], dict[str, float]()
    train, cut = divided(_read(given.data, setting.train)[: setting.dialogues])
    known = {dialogue.turns for dialogue in _read(given.data, setting.train)}
    unseen = [dialogue for dialogue in _read(given.data, setting.test) if dialogue.turns not in known]
    pools = make_pools(unseen, most=given.pools)
    rows, added = baselines(pools, setting.learning.model), dict[str, Any]()
    given.output.mkdir(parents=True, exist_ok=True)
    tower = learned_tower(given.output, train, cut, setting.learning, seconds)
    if given.stage == "tower":
        rows["tower"] = ranked(by_vectors(tower, pools))
    else:
        more, added = with_cross(given.output, train, cut, setting.learning, tower, pools, seconds)
        rows |= more
    told = {name: figures.to_dict() for name, figures in rows.items()}
    about = {"language": given.language, "scores": told, "added": added, "processor_seconds": seconds}
    print(json.dumps(about, indent=1))


def divided(dialogues: Sequence[Any]) -> tuple[list[Any], int]:
    """Dialogues with every tenth at the end, held out, and where those begin: a file may be sorted by its topics.

    >>> divided(range(12))
    ([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 0, 10], 10)
    """
    held_out = dialogues[::10]
    return [one for number, one in enumerate(dialogues) if number % 10] + [*held_out], len(dialogues) - len(held_out)


def baselines(pools: Sequence[Pool], model: str) -> dict[str, Ranked]:
    """What the parts are held against."""
    last = [Pool(pool.context[-1:], pool.replies) for pool in pools]
    return {
        "bm25": ranked(by_words(pools)),
        "bm25, last turn": ranked(by_words(last)),
        "untrained": ranked(by_vectors(TextVectors(model), pools)),
    }


def learned_tower(
    work: Path, train: Sequence[Dialogue], cut: int, learning: Learning, seconds: dict[str, float]
) -> TextVectors:
    """The tower, learned from the dialogues before the cut."""
    said, kept_back = _exchanges(train[:cut]), _exchanges(train[cut:])[:DEV]
    learn_tower(work, said, kept_back, learning, lambda run: _train(run, "tower", seconds))
    return TextVectors(work / "tower")


def with_cross(
    work: Path,
    train: Sequence[Dialogue],
    cut: int,
    learning: Learning,
    tower: TextVectors,
    pools: Sequence[Pool],
    seconds: dict[str, float],
) -> tuple[dict[str, Ranked], dict[str, Any]]:
    """The cross-encoder alone, all parts weighed on the dialogues after the cut, and what reading adds."""
    said, kept_back = _exchanges(train[:cut]), _exchanges(train[cut:])[:DEV_READ]
    learn_cross(work, said, kept_back, learning, lambda run: _train(run, "cross-encoder", seconds))
    cross = Predictor.open(work / "cross")
    kept_back_pools = PoolNumbers.of(make_pools(train[cut:], most=WEIGHED), tower, cross)
    numbers = PoolNumbers.of(pools, tower, cross)
    chat = numbers.weighed(learn_weights(kept_back_pools))
    unread = numbers.unread().weighed(learn_weights(kept_back_pools.unread()))
    rows = {
        "tower": ranked(numbers.cosine),
        "cross-encoder": ranked(numbers.reading),
        "chat, unread": ranked(unread),
        "chat": ranked(chat),
        "random": ranked([np.zeros_like(own) for own in numbers.words]),
    }
    others = {"tower": numbers.cosine, "chat, unread": unread}
    added = {f"chat over {name}": gain(chat, scores) for name, scores in others.items()}
    kept = {"kept by the training's rule": reading_helps(kept_back_pools)}
    return rows, added | {"cross-encoder over tower": gain(numbers.reading, numbers.cosine)} | kept


def gain(scores: Sequence[Floats], others: Sequence[Floats]) -> dict[str, Any]:
    """How much higher the first put real replies, on the same pools: R10@1 and MRR with interval and p."""
    told: dict[str, Any] = {}
    for name, measure in (("r10_at_1", first_shares), ("mrr", reciprocal_ranks)):
        differences = measure(scores) - measure(others)
        told[name] = round(float(differences.mean()), 4)
        told[f"{name}_interval"] = [round(end, 4) for end in interval(differences)]
        told[f"{name}_p"] = round(paired_p(differences), 5)
    return told


def _train(run: FineTuningRun, name: str, seconds: dict[str, float]) -> Outcome:
    started = time.process_time()
    outcome = run.train()
    seconds[name] = round(time.process_time() - started, 1)
    return outcome


def _exchanges(dialogues: Sequence[Dialogue]) -> list[Any]:
    return [exchange for dialogue in dialogues for exchange in exchanges(dialogue)]


def _read(data: Path, patterns: Sequence[str]) -> list[Dialogue]:
    paths = sorted(path for pattern in patterns for path in data.glob(pattern))
    return list(read_dialogues(paths).dialogues)


if __name__ == "__main__":
    main()
