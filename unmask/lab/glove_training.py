"""GloVe on the text of an experiment: which pieces stand near which is counted once, then factorised for its time."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from unmask.data.neighbours import count_neighbours, some_tokens
from unmask.lab.timed_training import Ended, Training, train_in_time
from unmask.lab.workbench import Workbench
from unmask.model.config import BertConfig
from unmask.model.glove import LOSS, CellBatches, Cells, Glove
from unmask.model.static_encoder import save_static
from unmask.tasks.pretraining import PretrainingSettings
from unmask.tasks.pretraining_run import tokens_to_count
from unmask.training.loop import Part

CELLS = 8192  # a step; each is far less work than a token of an encoder
CHANGES = {"objective": LOSS, "optimiser": "adagrad", "learning_rate": 0.05, "warmup": 0.0, "shape": "constant"}
PLAIN = {"decay": 0.0, "clip": 0.0, "dropout": 0.0, "epsilon": 1e-10}


@dataclass(frozen=True)
class CellParts:
    """The cells of a step as the loop takes them."""

    batches: CellBatches

    def parts(self, step: int, length: int) -> list[Part]:
        """One part a step; sequences, and so their length, there are none."""
        del length
        cells = self.batches.at(step)
        return [Part(0, cells, len(cells.rows), {LOSS: float(len(cells.rows))})]


def _fresh(cells: Cells, size: int, width: int, seed: int) -> Glove:
    glove = Glove(size, width, seed)
    glove.begin_at_frequencies(cells)
    return glove


def train_glove(bench: Workbench, folder: Path) -> Ended:
    """Counts, trains or goes on training, and saves the vectors as a model folder; the tokens are those counted."""
    corpus, width = bench.corpus, BertConfig.named(bench.asked.size).width
    started = time.monotonic()
    ids = some_tokens(corpus.store, corpus.training, tokens_to_count(None))
    cells = Cells.of(count_neighbours(ids, corpus.tokenizer.size))
    counting = time.monotonic() - started
    given = {name: value for name, value in bench.changes().items() if name in ("steps", "seed")}
    settings = PretrainingSettings(**{**CHANGES, **PLAIN, **given, "batch_tokens": CELLS, "size": bench.asked.size})
    training = Training(
        folder,
        lambda: _fresh(cells, corpus.tokenizer.size, width, settings.seed),
        CellParts(CellBatches(cells, CELLS, settings.seed)),
        [],
        settings,
        save_every=bench.asked.save_every,
    )
    budget = None if bench.share is None else bench.share - counting
    ended = train_in_time(training, "training GloVe", budget, bench.show, bench.stop)
    assert isinstance(ended.learner, Glove)
    save_static(folder, ended.learner.vectors.numpy(), corpus.tokenizer, "GloVe")
    return replace(ended, seconds=ended.seconds + counting, tokens=len(ids))
