"""How fast pretraining steps are here, and how much memory they take, in turns with a plain transformers training loop.

Both sides start from the same weights and take the same rows of real text; dropout, optimiser and batch are the same.
Ours draws, masks and learns without padding; theirs gets the drawn rows, masks and pads them with its usual collator.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from unmask.data import pairs
from unmask.data.pairs import Examples, Plan
from unmask.data.prepare import prepare
from unmask.data.store import Store
from unmask.model.config import BertConfig
from unmask.model.names import to_published
from unmask.tasks.objectives import Learner
from unmask.tasks.parts import tokens_that_fit, worth_taking
from unmask.tasks.pretraining import Batches, PretrainingSettings, configure, new_learner
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer
from unmask.training.half_precision import PRECISIONS
from unmask.training.loop import train
from unmask.training.memory import EVERY, free_bytes, give_back
from unmask.training.optim import make_optimiser

PIECES = 30_522  # as the published vocabulary has: the head's work depends on it
LENGTH, ROWS = 128, 32
MEMORY = "from unmask.lab.bench_pretrain import print_memory; import sys; print_memory(*sys.argv[1:])"

TakeStep = Callable[[int], int]  # a step's number -> how many pieces of text it has learned from


@dataclass(frozen=True)
class Speeds:
    """Useful pieces a second, round by round, and the bytes a step needs beyond weights and optimiser state."""

    size: str
    dropout: float
    ours: tuple[float, ...]
    theirs: tuple[float, ...] = ()
    our_memory: int = 0
    their_memory: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Medians, ratios (ours / theirs) and every round."""
        fields = {"what": "pretrain", "unit": "pieces per second", "size": self.size, "dropout": self.dropout}
        fields |= {"ours": median(self.ours), "theirs": median(self.theirs) if self.theirs else None}
        if self.theirs:
            ratios = [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]
            fields |= {"ratio": median(ratios), "ratios": ratios, "memory_ratio": self.our_memory / self.their_memory}
        return fields | {"rounds": {"ours": self.ours, "theirs": self.theirs}, **self._memory()}

    def _memory(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name.endswith("_memory")}


@dataclass(frozen=True)
class Trial:
    """The same start for both sides: text, settings and weights."""

    tokenizer: Tokenizer
    batches: Batches
    settings: PretrainingSettings
    learner: Learner

    @property
    def plan(self) -> Plan:
        """Where the rows come from."""
        return self.batches.plans[LENGTH]


def make_trial(size: str, dropout: float, text: Path | None, folder: Path, precision: str = "float32") -> Trial:
    """A model of a size with fresh weights, and text to learn from: the user's, or Python's own documentation."""
    BertConfig.named(size)  # refuses a size that does not exist, before any text is read
    source = text or documentation(folder)
    store_folder = folder / "store"
    if not store_folder.exists():
        pieces = learn_vocabulary([source.read_text(encoding="utf-8")], size=PIECES)
        pieces += [f"[unused{number}]" for number in range(PIECES - len(pieces))]
        prepare([source], store_folder, Tokenizer(pieces))
    store = Store.open(store_folder)
    tokenizer = store.tokenizer()
    settings = PretrainingSettings(
        size=size, dropout=dropout, lengths=(LENGTH,), batch_tokens=ROWS * LENGTH, precision=precision
    )
    config = configure(size, tokenizer, settings)
    fitting = tokens_that_fit(config, worth_taking(config, free_bytes()), length=LENGTH)
    settings = replace(settings, part_tokens=min(fitting, settings.batch_tokens))
    batches = Batches(store, np.arange(store.document_count), tokenizer, settings)
    return Trial(tokenizer, batches, settings, new_learner(config, settings))


def measure_pretraining(trial: Trial, *, rounds: int, against_transformers: bool) -> Speeds:
    """Steps in turns, one of each a round; the first round is not counted."""
    sides = {"ours": our_steps(trial)} | ({"theirs": their_steps(trial)} if against_transformers else {})
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, take in sides.items():
            started = time.perf_counter()
            pieces = take(number)
            speeds[name].append(pieces / (time.perf_counter() - started))
    counted = {name: tuple(values[1:]) for name, values in speeds.items()}
    return Speeds(trial.settings.size, trial.settings.dropout, counted["ours"], counted.get("theirs", ()))


def our_steps(trial: Trial) -> TakeStep:
    """The loop as `unmask pretrain` runs it."""
    optimiser = make_optimiser("adamw", trial.learner)
    numbers: list[int] = []

    def upcoming() -> Any:
        while True:
            yield numbers[-1]

    steps = train(
        trial.learner,
        lambda step: trial.batches.parts(step, LENGTH),
        optimiser,
        lambda _: 1e-4,
        steps=upcoming(),
        dropout=trial.settings.dropout > 0,
        precision=PRECISIONS[trial.settings.precision],
    )

    def take(number: int) -> int:
        numbers.append(number)
        return next(steps).tokens

    return take


def their_steps(trial: Trial) -> TakeStep:
    """A plain loop as people write it: collator, BertForPreTraining with sdpa, torch's AdamW."""
    import torch

    config = trial.learner.model.bert.config
    model = their_model(config)
    model.load_state_dict(to_published(trial.learner.model.state_dict(), config, "pretraining"), strict=False)
    model.tie_weights()
    model.train()
    collate = their_collator(trial.tokenizer, trial.settings.mask_rate)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    drawn = {number: rows_of(_drawn(trial, number)) for number in range(64)}

    def take(number: int) -> int:
        rows = drawn[number % len(drawn)]
        their_learning(model, optimiser, collate(rows), trial.settings.precision)
        return sum(len(row["input_ids"]) for row in rows)

    return take


def their_model(config: BertConfig) -> Any:
    """Their BertForPreTraining of our shape, with fresh weights of its own."""
    import transformers

    published = dict(config.to_published(), attn_implementation="sdpa")
    return transformers.BertForPreTraining(transformers.BertConfig(**published))


def their_collator(tokenizer: Tokenizer, mask_rate: float) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Their masking of rows, padded to the longest."""
    import transformers

    with TemporaryDirectory() as folder:
        tokenizer.save(Path(folder))
        same = transformers.AutoTokenizer.from_pretrained(folder)
    return transformers.DataCollatorForLanguageModeling(same, mlm_probability=mask_rate)


def their_learning(model: Any, optimiser: Any, batch: dict[str, Any], precision: str = "float32") -> None:
    """One step of a plain script, gradients clipped and products in lower precision as their Trainer does."""
    import torch

    with torch.autocast("cpu", PRECISIONS[precision], enabled=precision != "float32"):
        loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    optimiser.zero_grad()
    loss.item()


def rows_of(examples: Examples) -> list[dict[str, Any]]:
    """Drawn rows as their collator takes them."""
    ends = np.cumsum(examples.lengths)
    return [
        {
            "input_ids": examples.ids[end - length : end].tolist(),
            "token_type_ids": examples.segments[end - length : end].tolist(),
            "attention_mask": [1] * int(length),
            "next_sentence_label": int(label),
        }
        for end, length, label in zip(ends, examples.lengths, examples.labels, strict=True)
    ]


def measure_memory(side: str, size: str, dropout: float, text: Path | None, folder: Path, precision: str) -> int:
    """Bytes that a step needs beyond weights, gradients and optimiser state, in a process of its own."""
    arguments = [side, size, str(dropout), str(text or ""), str(folder), precision]
    done = subprocess.run([sys.executable, "-c", MEMORY, *arguments], capture_output=True, text=True, check=True)
    return int(done.stdout)


def print_memory(side: str, size: str, dropout: str, text: str, folder: str, precision: str) -> None:
    """The work of `measure_memory` in its process: a first step makes what stays, the second shows the peak."""
    source = Path(text) if text else None
    steps = {"ours": our_steps, "theirs": their_steps}[side]
    take = steps(make_trial(size, float(dropout), source, Path(folder), precision))
    take(0)  # gradients and optimiser state exist from here on
    give_back(EVERY)  # what the first step freed shall not hide what the second needs
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    take(1)
    print(_status("VmHWM") - before)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def _drawn(trial: Trial, step: int) -> Examples:
    return pairs.draw(trial.plan, trial.tokenizer, seed=trial.settings.seed, step=step, rows=ROWS)


def documentation(folder: Path) -> Path:
    """Python's own documentation of its language, which every Python has."""
    from pydoc_data.topics import topics

    path = folder / "python.txt"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(text.replace("\n\n", "\n") for _, text in sorted(topics.items())), encoding="utf-8")
    return path
