"""Integrated gradients of one sentence: ours beside captum on transformers, the same weights, baseline and steps.

    OMP_NUM_THREADS=1 python benchmarks/explain_speed.py -o result.json

The model has MiniLM's size and random weights; both take turns. Beside the clock's time stands the processor's, which
other work on the machine disturbs less.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from unmask.explain.gradients import integrated_gradients
from unmask.explain.reading import NO_WORD
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import LoadReport, published_names
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = [f"w{first}{second}" for first in "abcdefghijkl" for second in "abcdefghijklmnopqrstuvwxyz"]
Run = Callable[[], NDArray[np.float64]]


def main() -> None:
    """Takes turns, and writes medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of captum and transformers
    runs = {f"captum, {attention}": captum(asked.words, asked.steps, attention) for attention in ("sdpa", "eager")}
    runs["ours"] = ours(asked.words, asked.steps)
    clock, processor = ({name: [] for name in runs} for _ in range(2))
    for _ in range(asked.turns + 1):
        for name, run in runs.items():
            wall, busy = time.perf_counter(), time.process_time()
            run()
            clock[name].append(time.perf_counter() - wall)
            processor[name].append(time.process_time() - busy)
    rows = [
        {
            "run": name,
            "seconds": round(median(clock[name][1:]), 3),
            "processor_seconds": round(median(processor[name][1:]), 3),
            "spread": [round(min(processor[name][1:]), 3), round(max(processor[name][1:]), 3)],
            "farthest_from_ours": float(np.abs(run() - runs["ours"]()).max()),
        }
        for name, run in runs.items()
    ]
    told = {"words": asked.words, "steps": asked.steps, "turns": asked.turns, "threads": torch.get_num_threads()}
    asked.output.write_text(json.dumps({**told, "rows": rows}, indent=1) + "\n")
    print(json.dumps(rows, indent=1))


def theirs_and_ours(words: int, attention: str) -> tuple[torch.nn.Module, Subject]:
    """The same random weights in both libraries, and a sentence of random words."""
    tokenizer = Tokenizer([*SPECIAL_PIECES, *WORDS])
    config = BertConfig(vocabulary_size=tokenizer.size, width=384, layers=6, heads=12, feed_forward=1536, positions=512)
    torch.manual_seed(0)
    settings = transformers.BertConfig(**config.to_published(), num_labels=2, attn_implementation=attention)
    theirs = transformers.BertForSequenceClassification(settings).eval()
    model = BertWithHead(Bert(config), make_head("classes", config, outputs=2)).eval()
    state, names = theirs.state_dict(), published_names(config, "classes")
    model.load_state_dict({name: torch.cat([state[part] for part in parts]) for name, parts in names.items()})
    opened = ModelFolder(config, model, tokenizer, About("classes", labels=("bad", "good")), LoadReport())
    text = " ".join(np.random.default_rng(0).choice(WORDS, words))
    return theirs, subject_of(opened, text, target="good")


def ours(words: int, steps: int) -> Run:
    """Integrated gradients as the package computes them, completeness error included."""
    _, subject = theirs_and_ours(words, "sdpa")
    return lambda: integrated_gradients(subject, steps=steps).scores


def captum(words: int, steps: int, attention: str) -> Run:
    """The same by captum, convergence delta included."""
    from captum.attr import LayerIntegratedGradients

    theirs, subject = theirs_and_ours(words, attention)
    ids = torch.from_numpy(subject.reading.ids)[None]
    blank = torch.where(torch.from_numpy(subject.reading.numbers == NO_WORD), ids, subject.tokenizer.pad_id)
    method = LayerIntegratedGradients(lambda ids: theirs(input_ids=ids).logits, theirs.bert.embeddings.word_embeddings)

    def run() -> NDArray[np.float64]:
        found, _ = method.attribute(ids, blank, target=1, n_steps=steps, return_convergence_delta=True)
        return subject.reading.word_sums(found[0].sum(-1).detach().numpy())

    return run


if __name__ == "__main__":
    main()
