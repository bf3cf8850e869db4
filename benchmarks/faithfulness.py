"""Are explanations true to the model? Comprehensiveness of every method beside random orders, over many sentences.

    OMP_NUM_THREADS=1 python benchmarks/faithfulness.py --model DIR --data dev.tsv --text sentence -o result.json

The first sentences of at most `--most-words` words are explained by every method for the model's own answer. A method's
comprehensiveness is held against the mean of random orders of the same sentence: a paired test over sentences.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.tables import PLAIN, read_table
from unmask.explain.explaining import METHODS
from unmask.explain.faithfulness import measured
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.model.folder import open_model
from unmask.tasks.sign_flips import paired_p

FIGURES = ("comprehensiveness", "sufficiency", "deletion", "insertion")


def main() -> None:
    """Explains sentence after sentence, and writes what each method reaches beside chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a folder, or a model's name")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--text", default="text", help="the column that holds the text")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--most-words", type=int, default=60)
    parser.add_argument("--random", type=int, default=5, help="random orders of each sentence")
    parser.add_argument("--ig-steps", type=int, help="as many as are needed if none")
    parser.add_argument("--shapley-orders", type=int, default=4)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    started = time.process_time()
    found = [_measured(subject, number, asked) for number, subject in enumerate(_subjects(asked))]  # (N, K, figures)
    rows = _rows(np.array(found))
    told = {
        "data": asked.data.name,
        "sentences": len(found),
        "random_orders": asked.random,
        "ig_steps": asked.ig_steps,
        "shapley_orders": asked.shapley_orders,
        "processor_seconds": round(time.process_time() - started),
        "rows": rows,
    }
    asked.output.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))


def _subjects(asked: argparse.Namespace) -> Iterator[Subject]:
    """What is explained: the model's own answer on each of the first sentences that are short enough."""
    opened = open_model(asked.model)
    examples = read_table(asked.data, layout=replace(PLAIN, text=(asked.text,)), labelled=False).examples
    left = asked.sentences
    for example in examples:
        if not left:
            return
        subject = subject_of(opened, example.text)
        if 1 < len(subject.reading.words) <= asked.most_words:
            left -= 1
            yield subject


def _measured(subject: Subject, seed: int, asked: argparse.Namespace) -> list[list[float]]:
    """The figures of every method, and at last the mean of the random orders."""
    steps = {"ig": asked.ig_steps, "shapley": asked.shapley_orders}
    scores = [METHODS[method](subject, steps.get(method), seed).scores for method in METHODS]
    chance = np.random.default_rng(seed)
    drawn = [chance.permutation(len(subject.reading.words)) for _ in range(asked.random)]
    found = measured(subject, np.stack([*(np.argsort(-own, kind="stable") for own in scores), *drawn]))
    figures = np.stack([getattr(found, name) for name in FIGURES], 1)  # (orders, figures)
    return [*figures[: len(scores)].tolist(), figures[len(scores) :].mean(0).tolist()]


def _rows(found: NDArray[np.float64]) -> list[dict[str, Any]]:
    """A row for each method, beside chance."""
    rows = []
    for number, method in enumerate(METHODS):
        gains = found[:, number, 0] - found[:, -1, 0]
        low, high = np.percentile(
            gains[np.random.default_rng(0).integers(0, len(gains), (2000, len(gains)))].mean(1), [2.5, 97.5]
        )
        rows.append(
            {
                "method": method,
                **{name: round(float(found[:, number, at].mean()), 4) for at, name in enumerate(FIGURES)},
                **{f"random_{name}": round(float(found[:, -1, at].mean()), 4) for at, name in enumerate(FIGURES)},
                "gain": round(float(gains.mean()), 4),
                "gain_interval": [round(float(low), 4), round(float(high), 4)],
                "p": paired_p(gains),
            }
        )
    return rows


if __name__ == "__main__":
    main()
