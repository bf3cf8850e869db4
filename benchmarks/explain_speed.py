"""Integrated gradients of sentences: ours beside captum on transformers, the same weights and baseline.

    OMP_NUM_THREADS=1 python benchmarks/explain_speed.py --model FOLDER --data glue/SST-2/dev.tsv -o result.json

A fine-tuned classifier explains its answers to real sentences of about 30 words; without a model, random weights of
MiniLM's size and random words. captum takes 50 steps; ours takes as many, and as many as it needs. All take turns.
Beside the clock's time stands the processor's, which other work on the machine disturbs less, and beside both how far
scores are from those of 150 steps.
"""

import argparse
import csv
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from unmask.explain.attribution import Attribution
from unmask.explain.gradients import integrated_gradients
from unmask.explain.reading import NO_WORD
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, open_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import LoadReport, published_names
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = [f"w{first}{second}" for first in "abcdefghijkl" for second in "abcdefghijklmnopqrstuvwxyz"]
EXACT = 150  # steps that stand for the integral itself: from 100 on only rounding changes
Run = Callable[[], Attribution]


def main() -> None:
    """Takes turns, and writes medians, ratios and errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a fine-tuned classifier in the published layout")
    parser.add_argument("--data", type=Path, help="a table whose column `sentence` holds texts")
    parser.add_argument("--sentences", type=int, default=6)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of captum and transformers
    theirs, opened = random_model() if asked.model is None else trained_model(asked.model)
    texts = random_texts(asked.words) if asked.data is None else texts_of(asked.data, asked.words)
    subjects = [subject_of(opened, text) for text in texts[: asked.sentences]]
    captum(theirs, opened, subjects[0], 2)(), integrated_gradients(subjects[0], steps=2)  # not counted
    load, rows = os.getloadavg()[0], []
    for subject in subjects:
        rows += measured(theirs, opened, subject, asked.steps, asked.turns)
    told = {name: getattr(asked, name) for name in ("words", "steps", "turns")}
    told |= {"sentences": len(subjects), "threads": torch.get_num_threads(), "load": [load, os.getloadavg()[0]]}
    summary = summed_up(rows)
    asked.output.write_text(json.dumps({**told, "summary": summary, "rows": rows}, indent=1) + "\n")
    print(json.dumps(summary, indent=1))


def measured(theirs: torch.nn.Module, opened: ModelFolder, subject: Subject, steps: int, turns: int) -> list[Any]:
    """A row for each way of each turn."""
    runs: dict[str, Run] = {
        "captum": captum(theirs, opened, subject, steps),
        "ours, equal steps": lambda: integrated_gradients(subject, steps=steps),
        "ours, as needed": lambda: integrated_gradients(subject),
    }
    exact = integrated_gradients(subject, steps=EXACT).scores
    largest, rows = float(np.abs(exact).max()), []
    for turn in range(turns):
        for name, run in runs.items():
            wall, busy = time.perf_counter(), time.process_time()
            found = run()
            row = {"run": name, "seconds": time.perf_counter() - wall, "processor": time.process_time() - busy}
            assert found.completeness_error is not None
            row |= {"pieces": len(subject.reading.ids), "steps": found.steps, "turn": turn}
            row["completeness_error"] = found.completeness_error / largest
            row["farthest"] = float(np.abs(found.scores - exact).max()) / largest
            rows.append(row)
    return rows


def summed_up(rows: list[Any]) -> list[Any]:
    """Medians and spread of each way; ratios are those of runs that took turns."""
    ways: dict[str, list[Any]] = {}
    for row in rows:
        ways.setdefault(row["run"], []).append(row)
    summary = []
    for name, own in ways.items():
        told: dict[str, Any] = {"run": name, "n": len(own)}
        for field in ("seconds", "processor", "steps", "completeness_error", "farthest"):
            told[field] = spread([row[field] for row in own])
        for field in ("seconds", "processor"):
            pairs = zip(own, ways["captum"], strict=True)
            told[f"{field}_of_captums"] = spread([row[field] / other[field] for row, other in pairs])
        summary.append(told)
    return summary


def spread(values: list[float]) -> list[float]:
    """Median, lowest and highest.

    >>> spread([3, 1, 2])
    [2.0, 1.0, 3.0]
    """
    return [float(f"{value:.3g}") for value in (median(values), min(values), max(values))]


def trained_model(folder: Path) -> tuple[torch.nn.Module, ModelFolder]:
    """The same folder read by both libraries."""
    read = transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="sdpa")
    return read.eval(), open_model(folder)


def random_model() -> tuple[torch.nn.Module, ModelFolder]:
    """The same random weights in both libraries."""
    tokenizer = Tokenizer([*SPECIAL_PIECES, *WORDS])
    config = BertConfig(vocabulary_size=tokenizer.size, width=384, layers=6, heads=12, feed_forward=1536, positions=512)
    torch.manual_seed(0)
    settings = transformers.BertConfig(**config.to_published(), num_labels=2, attn_implementation="sdpa")
    theirs = transformers.BertForSequenceClassification(settings).eval()
    model = BertWithHead(Bert(config), make_head("classes", config, outputs=2)).eval()
    state, names = theirs.state_dict(), published_names(config, "classes")
    model.load_state_dict({name: torch.cat([state[part] for part in parts]) for name, parts in names.items()})
    return theirs, ModelFolder(config, model, tokenizer, About("classes", labels=("bad", "good")), LoadReport())


def random_texts(words: int) -> list[str]:
    """Sentences of random words."""
    return [" ".join(np.random.default_rng(seed).choice(WORDS, words)) for seed in range(100)]


def texts_of(path: Path, words: int) -> list[str]:
    """A table's sentences that have about as many words."""
    with path.open(encoding="utf-8", newline="") as file:
        texts = [row["sentence"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [text for text in texts if abs(len(text.split()) - words) <= 2]


def captum(theirs: torch.nn.Module, opened: ModelFolder, subject: Subject, steps: int) -> Run:
    """Integrated gradients by captum, convergence delta included."""
    from captum.attr import LayerIntegratedGradients

    ids = torch.from_numpy(subject.reading.ids)[None]
    blank = torch.where(torch.from_numpy(subject.reading.numbers == NO_WORD), ids, subject.tokenizer.pad_id)
    label = opened.about.labels.index(subject.target.label)
    method = LayerIntegratedGradients(lambda ids: theirs(input_ids=ids).logits, theirs.bert.embeddings.word_embeddings)

    def run() -> Attribution:
        found, delta = method.attribute(ids, blank, target=label, n_steps=steps, return_convergence_delta=True)
        scores: NDArray[np.float64] = subject.reading.word_sums(found[0].sum(-1).detach().numpy())
        return Attribution(scores, completeness_error=abs(float(delta)), steps=steps)

    return run


if __name__ == "__main__":
    main()
