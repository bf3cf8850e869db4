"""What it saves to compute of the last layer only what is read: steps and predictions by CPU time, both ways in turns.

OMP_NUM_THREADS=1 python benchmarks/only_what_is_read.py --rounds 5 > result.json
"""

import argparse
import json
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from unmask.data.ragged import Integers, Ragged
from unmask.lab import bench_finetune, bench_pretrain
from unmask.model.bert import Bert, Encoded
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead, make_head

TEXTS = 96  # three steps a round
Sides = dict[str, Callable[[int], object]]  # by name: takes the round of that number


class WholeBert(Bert):
    """Computes all of the last layer, whatever is read."""

    def forward(self, batch: Ragged, *, rows: Integers | None = None, **options: Any) -> Encoded:
        del rows
        return super().forward(batch, **options)


def whole(model: BertWithHead) -> BertWithHead:
    """A copy that computes the whole last layer."""
    made = deepcopy(model)
    made.bert.__class__ = WholeBert
    return made


def classifying(size: str, folder: Path, rounds: int) -> dict[str, Sides]:
    """Fine-tuning and prediction on texts of SST-2's lengths."""
    trial = bench_finetune.make_trial("classify")
    trial = replace(trial, examples=trial.examples[:TEXTS], rows=trial.rows[:TEXTS])
    if size != "minilm":
        config = BertConfig.named(size, vocabulary_size=trial.tokenizer.size)
        head = make_head("classes", config, outputs=trial.task.outputs)
        trial = replace(trial, config=config, model=BertWithHead(Bert(config), head))
    trials = {"whole": replace(trial, model=whole(trial.model)), "read": trial}
    learn = {
        name: bench_finetune.our_training(one, folder / size / name, epochs=rounds + 1) for name, one in trials.items()
    }
    predict = {name: bench_finetune.our_prediction(one) for name, one in trials.items()}
    return {
        f"classify, training, {size}": {name: lambda _, go=go: go() for name, go in learn.items()},  # type: ignore[misc]
        f"classify, prediction, {size}": {name: lambda _, go=go: go() for name, go in predict.items()},  # type: ignore[misc]
    }


def pretraining(size: str, folder: Path) -> dict[str, Sides]:
    """Steps of 32 rows of at most 128 pieces, masked words and next sentence."""
    trial = bench_pretrain.make_trial(size, 0.1, None, folder)
    other = deepcopy(trial.learner)
    other.model.bert.__class__ = WholeBert
    trials = {"whole": replace(trial, learner=other), "read": trial}
    return {f"pretrain, {size}": {name: bench_pretrain.our_steps(one) for name, one in trials.items()}}


def in_turns(sides: Sides, rounds: int) -> dict[str, Any]:
    """CPU seconds of each side, a round of each in turn and the order turned about; round 0 is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name in sorted(sides, reverse=number % 2 == 0):
            started = time.process_time()
            sides[name](number)
            seconds[name].append(time.process_time() - started)
    counted = {name: values[1:] for name, values in seconds.items()}
    ratios = [before / after for before, after in zip(counted["whole"], counted["read"], strict=True)]
    return {
        "ratio": median(ratios),
        "ratios": sorted(ratios),
        "seconds": {name: median(values) for name, values in counted.items()},
        "rounds": counted,
    }


def main() -> None:
    """Measures everything and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        trials = classifying("mini", folder, rounds) | classifying("minilm", folder, rounds)
        trials |= pretraining("tiny", folder) | pretraining("mini", folder)
        print(json.dumps({name: in_turns(sides, rounds) for name, sides in trials.items()}, indent=1))


if __name__ == "__main__":
    main()
