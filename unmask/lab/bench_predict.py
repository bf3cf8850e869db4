"""How many texts a second every engine here makes vectors of: same weights, same texts, a process for each, in turns.

Sentences lie in the order of their file, passages are 200 to 400 pieces of consecutive sentences, single texts of 8 to
32 pieces come one a call. The answers of all engines are compared: one that computes something else is an error.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from unmask.compress.export import export
from unmask.compress.quantize import quantize
from unmask.errors import InputError
from unmask.files import write_text
from unmask.lab.predict_engines import ENGINES, LONGEST
from unmask.model.about import About, read_object
from unmask.model.folder import ModelFolder, open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.text.documents import read_documents
from unmask.text.tokenizer import Tokenizer

OURS = ("unmask int8", "unmask float32")
SENTENCES, PASSAGES, SINGLES = 2000, 300, 100
PASSAGE_PIECES, SINGLE_PIECES = (200, 400), (8, 32)
ALIKE = 0.95  # cosine that most vectors must have with ours in float32; rough int8 is further away now and then


@dataclass(frozen=True)
class Prediction:
    """Texts a second of every engine, by kind of text, round by round."""

    rounds: dict[str, dict[str, list[float]]]  # kind -> engine -> texts a second
    missing: dict[str, str]  # engine -> the module that it lacks
    alike: dict[str, float]  # engine -> the lowest cosine with ours in float32
    processor: dict[str, dict[str, float]]  # kind -> engine -> seconds of the processor in a round, for busy machines

    def to_dict(self) -> dict[str, Any]:
        """Medians, and how many times as fast each of ours is.

        >>> rounds = {"sentences": {"unmask int8": [8.0, 9.0, 8.0], "transformers": [2.0, 3.0, 2.0]}}
        >>> Prediction(rounds, {}, {}, {}).to_dict()["kinds"]["sentences"]["ratios"]
        {'unmask int8': {'transformers': 4.0}}
        """
        kinds = {kind: _compared(speeds) for kind, speeds in self.rounds.items()}
        first = next(iter(kinds.values()))
        theirs = first["medians"].get("transformers")
        ours = first["medians"][OURS[0]]
        summary = {"ours": ours, "theirs": theirs, "ratio": first["ratios"][OURS[0]].get("transformers")}
        about = {"what": "predict", "unit": "texts per second", "missing": self.missing, "alike": self.alike}
        return {**about, **summary, "kinds": kinds, "rounds": self.rounds, "processor_seconds": self.processor}


def measure_prediction(folder: Path, engines: Sequence[str], *, rounds: int, threads: int) -> Prediction:
    """All engines in turns, kind by kind; a first round warms them and is not counted."""
    with ExitStack() as stack:
        started = {name: stack.enter_context(_process(name, folder, threads)) for name in engines}
        missing = {name: said["missing"] for name, (_, said) in started.items() if "missing" in said}
        running = {name: process for name, (process, _) in started.items() if name not in missing}
        measured: dict[str, dict[str, list[float]]] = {}
        alike: dict[str, float] = {}
        processor: dict[str, dict[str, float]] = {}
        for kind in KINDS:
            texts = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
            calls = len(texts) if kind == "single texts" else 1
            spent: dict[str, list[dict[str, float]]] = {name: [] for name in running}
            for _ in range(rounds + 1):
                for name, process in running.items():
                    spent[name].append(_ask(process, [kind, calls]))
            measured[kind] = {name: [len(texts) / one["seconds"] for one in took[1:]] for name, took in spent.items()}
            processor[kind] = {name: median(one["processor"] for one in took[1:]) for name, took in spent.items()}
            if kind == "sentences":
                alike = _alike(folder, list(running))
    return Prediction(measured, missing, alike, processor)


def make_forms(model: str, folder: Path) -> ModelFolder:
    """The same weights in every form that an engine opens."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    opened = as_embedder(open_model(model))
    save_model(folder / "model", opened.config, opened.model, opened.tokenizer, opened.about)
    config = folder / "model" / "config.json"  # CTranslate2's converter asks for a field that transformers gave up
    write_text(config, json.dumps(read_object(config) | {"position_embedding_type": "absolute"}))
    export(opened, folder / "float32")
    quantize(opened, folder / "int8")
    portable = export(opened, folder / "portable", portable=True).folder / "onnx" / "model.onnx"
    quantize_dynamic(portable, folder / "theirs_int8.onnx", weight_type=QuantType.QInt8)
    return opened


def make_texts(tokenizer: Tokenizer, source: Path, folder: Path) -> dict[str, int]:
    """Files of sentences, passages and single texts from a corpus; gives how many there are of each."""
    sentences, passages = _sentences_and_passages(tokenizer, source)
    pieces = [len(ids) for ids in tokenizer.ids_batch(sentences)]
    short = [text for text, count in zip(sentences, pieces, strict=True) if _within(count, SINGLE_PIECES)]
    made = {"sentences": sentences[:SENTENCES], "passages": passages[:PASSAGES], "single texts": short[:SINGLES]}
    for kind, texts in made.items():
        if not texts:
            raise InputError(f"{source} without {kind}", wanted="a longer text", do="name another with --text")
        (folder / f"{kind}.json").write_text(json.dumps(texts), encoding="utf-8")
    return {kind: len(texts) for kind, texts in made.items()}


def as_embedder(opened: ModelFolder) -> ModelFolder:
    """The encoder of any model as one that gives a text the mean of its tokens."""
    about = About("embedding", pooling="mean", normalise=True, max_length=min(LONGEST, opened.config.positions))
    config = replace(opened.config, pooler=opened.bert.pooler is not None)
    return replace(opened, config=config, model=BertWithHead(opened.bert, make_head("embedding", config)), about=about)


def _sentences_and_passages(tokenizer: Tokenizer, source: Path) -> tuple[list[str], list[str]]:
    """The beginning of a corpus, as much of it as is needed: its sentences, and passages made of them."""
    wanted = cycle(np.random.default_rng(0).permutation(np.arange(*PASSAGE_PIECES)).tolist())
    sentences: list[str] = []
    passages: list[str] = []
    for document in read_documents([source]):
        pieces = [len(ids) for ids in tokenizer.ids_batch(list(document.sentences))]
        sentences += document.sentences
        passages += _joined(document.sentences, pieces, wanted)
        if len(sentences) >= SENTENCES and len(passages) >= PASSAGES:
            break
    return sentences, passages


def _joined(sentences: Sequence[str], pieces: Sequence[int], wanted: Iterator[int]) -> Iterator[str]:
    """Consecutive sentences as passages of at least as many pieces as are wanted, one after another."""
    held: list[str] = []
    total, enough = 0, next(wanted)
    for sentence, count in zip(sentences, pieces, strict=True):
        held, total = [*held, sentence], total + count
        if total >= enough:
            if _within(total, PASSAGE_PIECES):
                yield " ".join(held)
            held, total, enough = [], 0, next(wanted)


def _within(count: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= count + 2 <= bounds[1]  # [CLS] and [SEP] too


@contextmanager
def _process(engine: str, folder: Path, threads: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """An engine's process and the first thing that it says."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    command = [sys.executable, "-m", "unmask.lab.predict_engines", engine, str(folder), str(threads)]
    with (folder / f"{engine}.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, text=True
        )
        try:
            yield process, _reply(process, folder / f"{engine}.log")
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _ask(process: Any, request: list[Any]) -> dict[str, Any]:
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    return _reply(process, None)


def _reply(process: Any, log: Path | None) -> dict[str, Any]:
    line = process.stdout.readline()
    if not line:
        said = "" if log is None else log.read_text(errors="replace")[-400:]
        raise InputError(f"an engine that stopped: {' '.join(process.args[3:4])} {said}", wanted="an answer")
    found: dict[str, Any] = json.loads(line)
    return found


def _alike(folder: Path, engines: Sequence[str]) -> dict[str, float]:
    """The lowest cosine of each engine's vectors with ours in float32; one that computes something else is an error."""
    reference = np.load(folder / f"{OURS[1]}.npy")
    cosines = {name: (np.load(folder / f"{name}.npy") * reference).sum(-1) for name in engines}
    for name, found in cosines.items():
        if np.median(found) < ALIKE:
            raise InputError(f"{name}, whose vectors differ (cosine {np.median(found):.3f})", wanted="the same model")
    return {name: float(found.min()) for name, found in cosines.items()}


def _compared(speeds: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: median(values) for name, values in speeds.items()}
    rivals = [name for name in speeds if name not in OURS]
    ratios = {
        name: {rival: median(o / t for o, t in zip(speeds[name], speeds[rival], strict=True)) for rival in rivals}
        for name in OURS
        if name in speeds
    }
    return {"medians": medians, "ratios": ratios}


KINDS = ("sentences", "passages", "single texts")
AGAINST = {
    "": [*OURS],
    "transformers": [*OURS, "transformers", "transformers, sorted"],
    "all": list(ENGINES),
}
