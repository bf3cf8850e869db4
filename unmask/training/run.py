"""A training in a folder: it goes on from the folder's last checkpoint, writes its journal and saves itself.

Killed at any moment and started again, it ends with the same weights, optimiser state and journal, bit for bit.
"""

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from unmask.errors import InputError
from unmask.files import sync
from unmask.training import checkpoint
from unmask.training.checkpoint import Checkpoint
from unmask.training.journal import Journal
from unmask.training.loop import Step
from unmask.training.memory import give_back, use_again
from unmask.training.scaling import LossScale

Figures = dict[str, float]
CHECKPOINTS = "checkpoints"  # the folder of a training's state


@dataclass
class Run:
    """The folder of a training: `run.jsonl`, `speed.jsonl` and `checkpoints/`."""

    folder: Path
    model: nn.Module
    optimiser: Optimizer
    save_every: float = 60.0  # seconds between checkpoints
    writes: bool = True  # one process of a distributed run writes, the others only compute
    gather: Callable[[Figures], Figures] = dict  # sums figures over all processes
    scale: LossScale = field(default_factory=LossScale)  # of float16 losses
    step: int = 0  # steps taken so far
    saved: int = -1  # step of the last checkpoint
    spent: float = 0.0  # seconds of training so far, earlier sittings and steps lost to a crash included
    lately: float = 0.0  # tokens a second, the last steps counting most
    journal: Journal = field(init=False)
    speed: Journal = field(init=False)

    def __post_init__(self) -> None:
        self.journal = Journal(self.folder / "run.jsonl")
        self.speed = Journal(self.folder / "speed.jsonl")

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.folder / CHECKPOINTS

    def resume(self, note: Callable[[str], None] = lambda _: None) -> None:
        """Takes up the last good checkpoint, if there is one, and forgets what the journal says of later steps."""
        found = checkpoint.latest(self.checkpoints, note)
        if found is not None:
            checkpoint.restore(found.tensors, self.model, self.optimiser)
            self.scale.restore(found.tensors)
            self.step = self.saved = found.step
        if self.writes:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.journal.cut(found.journal_bytes if found else 0)
        self.spent = sum(event["seconds"] for event in self.speed.events())

    def save(self) -> None:
        """Writes a checkpoint of this moment; a full disk ends the run with the last good one kept."""
        if self.saved == self.step:
            return
        tensors = checkpoint.collect(self.model, self.optimiser) | self.scale.tensors()  # by all: each may hold a part
        if self.writes:
            self._save(tensors)
        self.saved = self.step

    def _save(self, tensors: dict[str, Tensor]) -> None:
        try:
            sync(self.journal.path)
            checkpoint.save(self.checkpoints, Checkpoint(self.step, self.journal.bytes, tensors))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise InputError(
                f"a full disk while saving step {self.step}",
                wanted=f"room for a checkpoint in {self.checkpoints}",
                do=f"the state after step {max(self.saved, 0)} is kept: make room and run the same command again",
            ) from error

    def follow(
        self,
        steps: Iterator[Step],
        *,
        evaluate: Callable[[int], Figures | None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[Step, Figures | None]]:
        """Takes the steps one by one, with journal, held-out figures where `evaluate` gives some, and checkpoints."""
        use_again()
        started = last_save = time.monotonic()
        for step in steps:
            held_out = evaluate(step.number)
            now = time.monotonic()
            self.step, self.spent, spent_here, started = step.number, self.spent + now - started, now - started, now
            self.lately += (step.tokens / spent_here - self.lately) * (0.1 if self.lately else 1.0)
            if self.writes:
                self._write(step, held_out, spent_here)
            asked = self.gather({"stop": float(stop()), "save": float(now - last_save >= self.save_every)})
            interrupted = asked["stop"] > 0
            if interrupted or asked["save"] > 0:
                self.save()
                last_save = time.monotonic()
            give_back(step.number)
            yield step, held_out
            if interrupted:
                raise KeyboardInterrupt
        self.save()

    def _write(self, step: Step, held_out: Figures | None, seconds: float) -> None:
        event: dict[str, Any] = {
            "step": step.number,
            "tokens": step.tokens,
            "loss": step.loss,
            **{f"{name}_loss": value for name, value in step.losses.items()},
            **step.figures,
            "learning_rate": step.learning_rate,
            "gradient_norm": step.gradient_norm,
        }
        if step.loss_scale != 1:
            event |= {"loss_scale": step.loss_scale, "skipped": step.skipped}
        if held_out:
            event["held_out"] = held_out
        self.journal.append(event)
        self.speed.append({"step": step.number, "seconds": seconds, "tokens_per_second": step.tokens / seconds})
