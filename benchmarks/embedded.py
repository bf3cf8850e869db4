"""How small a serving folder gets and how soon it answers: bytes, memory and the time of fresh processes, in turns.

    python benchmarks/embedded.py --trim TEXT --folder NAME=SERVING_FOLDER … --runs 5 > result.json

A classifier of the size tiny with fresh weights over a model's vocabulary is trimmed to the pieces of TEXT and rounded
to int8; other serving folders are timed beside it. A process is timed from its start to its answer, on Linux.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from unmask.compress.quantize import quantize
from unmask.compress.trim import trim
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import ModelFolder, open_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import LoadReport

TEXT = "Nobody expected the train to be on time, and it was."
ANSWER = """
import sys
from unmask.apps.load import load
load(sys.argv[1])(sys.argv[2])
status = dict(line.split(":", 1) for line in open("/proc/self/status"))  # rusage has the parent's peak in it
print(int(status["VmHWM"].split()[0]) * 1024, flush=True)
"""


def make_tiny(folder: Path, vocabulary_of: str, texts: Path) -> dict[str, Any]:
    """A classifier of two labels, trimmed and in int8."""
    tokenizer = open_model(vocabulary_of).tokenizer
    config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    whole = BertWithHead(Bert(config), make_head("classes", config, outputs=2))
    model, smaller = trim(whole, tokenizer, [texts.read_text(encoding="utf-8")])
    opened = ModelFolder(model.bert.config, model.eval(), smaller, About("classes", labels=("no", "yes")), LoadReport())
    made = quantize(opened, folder)
    return {"pieces_before": tokenizer.size, "pieces": smaller.size, "float32_bytes": made.bytes_before}


def answer_once(folder: Path) -> dict[str, float]:
    """A fresh process until its answer: seconds, seconds of the processor, bytes of memory at most."""
    used = os.times()
    started = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", ANSWER, str(folder), TEXT], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    now = os.times()
    processor = now.children_user + now.children_system - used.children_user - used.children_system
    return {"seconds": seconds, "cpu_seconds": processor, "memory": int(run.stdout)}


def measure(folders: dict[str, Path], runs: int) -> dict[str, Any]:
    """Every folder in turns; a first round warms the disk's cache."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in folders}
    for _ in range(runs + 1):
        for name, folder in folders.items():
            rounds[name].append(answer_once(folder))
    found = {}
    for name, folder in folders.items():
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        medians = {part: median(one[part] for one in rounds[name][1:]) for part in rounds[name][0]}
        found[name] = {"bytes": size, **medians, "rounds": rounds[name][1:]}
    return found


def main() -> None:
    """Makes, measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trim", type=Path, required=True)
    parser.add_argument("--model", default="minilm", help="whose vocabulary is taken")
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        tiny = Path(temporary) / "tiny"
        about = make_tiny(tiny, given.model, given.trim)
        folders = {"tiny, trimmed, int8": tiny}
        folders |= {name: Path(path) for name, _, path in (text.partition("=") for text in given.folder)}
        print(json.dumps({"tiny": about, "folders": measure(folders, given.runs)}, indent=1))


if __name__ == "__main__":
    main()
