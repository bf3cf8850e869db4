"""How often the real reply is chosen among ten, by words, an untrained encoder, the tower, the cross-encoder, and all.

    python benchmarks/dialogue.py en DATA -o WORK      # DailyDialog, minilm
    python benchmarks/dialogue.py zh DATA -o WORK      # KdConv, default

DATA is the folder of the public sets. WORK keeps the models: what was begun there goes on, what is finished is not done
again. `--stage tower` measures without a cross-encoder. Figures are printed as JSON, with the processor time of each
stage that was taken in this process.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.apps.chat_measures import Pool, Ranked, by_vectors, by_words, make_pools, ranked
from unmask.apps.chat_models import Learning, learn_cross, learn_tower
from unmask.apps.predict import Predictor
from unmask.apps.reply_scores import PoolNumbers, learn_weights
from unmask.apps.vectors import TextVectors
from unmask.data.dialogues import Dialogue, exchanges, read_dialogues
from unmask.tasks.finetuning_run import FineTuningRun, Outcome

DEV, DEV_READ = 150, 60  # held-out exchanges looked at while tower and cross-encoder learn
WEIGHED = 60  # pools of the training's held-out dialogues by which the parts are weighed


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
        700,
        Learning("minilm", most=2400, most_read=240, learning_rate=5e-5),
    ),
    "zh": Setting(
        ("kdconv/*/dev.json*",),
        ("kdconv/*/test.json*",),
        450,
        Learning("default", most=6000, most_read=600, learning_rate=3e-4),
    ),
}


def main() -> None:
    """Learns what is not learned yet, and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=SETTINGS)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--stage", choices=("tower", "cross"), default="cross")
    parser.add_argument("--pools", type=int, default=200)
    given = parser.parse_args()
    setting, seconds = SETTINGS[given.language], dict[str, float]()
    train = _read(given.data, setting.train)[: setting.dialogues]
    cut = len(train) - len(train) // 10
    pools = make_pools(_read(given.data, setting.test), most=given.pools)
    rows = baselines(pools, setting.learning.model)
    given.output.mkdir(parents=True, exist_ok=True)
    tower = learned_tower(given.output, train, cut, setting.learning, seconds)
    rows["tower"] = ranked(by_vectors(tower, pools))
    if given.stage == "cross":
        rows |= with_cross(given.output, train, cut, setting.learning, tower, pools, seconds)
    told = {name: figures.to_dict() for name, figures in rows.items()}
    print(json.dumps({"language": given.language, "scores": told, "processor_seconds": seconds}, indent=1))


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
) -> dict[str, Any]:
    """The cross-encoder alone, and all parts weighed on the dialogues after the cut."""
    said, kept_back = _exchanges(train[:cut]), _exchanges(train[cut:])[:DEV_READ]
    learn_cross(work, said, kept_back, learning, lambda run: _train(run, "cross-encoder", seconds))
    cross = Predictor.open(work / "cross")
    weights = learn_weights(PoolNumbers.of(make_pools(train[cut:], most=WEIGHED), tower, cross))
    found = PoolNumbers.of(pools, tower, cross).ranked(weights)
    return {"cross-encoder": found["cross_encoder"], "chat": found["chat"], "random": found["random"]}


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
