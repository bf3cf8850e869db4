"""Torch beside onnxruntime for the answers of a model folder: tokens a second of each, and what an export takes.

    python benchmarks/model_engine.py default:sentiment minilm base -o benchmarks/records/DATE_model_engine/result.json

Rows of random pieces with the lengths of SST-2's texts and of SQuAD's windows, and texts one by one; both engines in
turns in one process. `minilm` and sizes get a fresh class head, which is as fast as a trained one.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from unmask.compress.model_engine import in_memory
from unmask.data.rows import Row
from unmask.lab.bench_finetune import CONTEXTS, TEXTS, spread
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import SIZES, BertConfig
from unmask.model.folder import ModelFolder, open_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import LoadReport
from unmask.model.outputs import outputs_of

TOKENS = 25_000  # of each kind in a round, for a model of MiniLM's size
MINILM = 10_600_000  # weights of its layers
ASKED = 14  # pieces of a question, with [CLS] and [SEP]
ONE_BY_ONE = 40  # texts


def main() -> None:
    """Measures every model and writes every round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(2)
    measured = {name: measure(opened_as(name), given.rounds) for name in given.models}
    given.output.write_text(json.dumps(measured, indent=1) + "\n")
    for name, found in measured.items():
        print(name, f"export {found['export_seconds']:.2f} s")
        for kind, speeds in found["tokens_a_second"].items():
            times = [ours / theirs for ours, theirs in zip(speeds["onnxruntime"], speeds["torch"], strict=True)]
            print(f"  {kind}: {median(times):.2f} times ({min(times):.2f} to {max(times):.2f})")


def opened_as(name: str) -> ModelFolder:
    """A fine-tuned model as it is, an encoder or a size with a fresh class head."""
    opened = open_model("default" if name in SIZES else name)
    if name not in SIZES and opened.about.task and opened.about.head not in ("embedding", "pretraining"):
        return opened
    config = BertConfig.named(name, vocabulary_size=opened.tokenizer.size) if name in SIZES else opened.config
    config = replace(config, pooler=True)
    model = BertWithHead(Bert(config), make_head("classes", config, outputs=2)).eval()
    return ModelFolder(config, model, opened.tokenizer, About("classes", labels=("a", "b")), LoadReport())


def measure(opened: ModelFolder, rounds: int) -> dict[str, Any]:
    """Both engines in turns after a round that is not counted."""
    assert isinstance(opened.model, BertWithHead)
    model = opened.model
    started = time.perf_counter()
    engine = in_memory(opened).engine
    engine.outputs(rows_of(opened, [8]))
    taken = time.perf_counter() - started
    ways: dict[str, Callable[[Sequence[Row]], Any]] = {"torch": lambda rows: outputs_of(model, rows)}
    ways["onnxruntime"] = engine.outputs
    few = TOKENS * MINILM / max(MINILM, 12 * opened.config.layers * opened.config.width**2)
    kinds = {
        "short": [rows_of(opened, [length + 2 for length in spread(TEXTS, int(few / 14))])],
        "long": [rows_of(opened, [min(length + ASKED, 384) for length in spread(CONTEXTS, int(few / 170))])],
        "one by one": [rows_of(opened, [length + 2]) for length in spread(TEXTS, ONE_BY_ONE)],
    }
    speeds = {kind: _in_turns(ways, calls, rounds) for kind, calls in kinds.items()}
    return {"export_seconds": taken, "parameters": sum(map(torch.numel, model.parameters())), "tokens_a_second": speeds}


def rows_of(opened: ModelFolder, lengths: Sequence[int]) -> list[Row]:
    """Rows of random pieces."""
    chance = np.random.default_rng(0)
    drawn = [chance.integers(5, opened.config.vocabulary_size, size=length).tolist() for length in lengths]
    return [Row(ids, [0] * len(ids), place) for place, ids in enumerate(drawn)]


def _in_turns(
    ways: dict[str, Callable[[Sequence[Row]], Any]], calls: Sequence[Sequence[Row]], rounds: int
) -> dict[str, list[float]]:
    tokens = sum(len(row.ids) for rows in calls for row in rows)
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, outputs in ways.items():
            started = time.perf_counter()
            for rows in calls:
                outputs(rows)
            speeds[name].append(tokens / (time.perf_counter() - started))
    return {name: found[1:] for name, found in speeds.items()}


if __name__ == "__main__":
    main()
