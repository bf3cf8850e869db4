"""A training's figures for TensorBoard (extra `lab`): steps come in as they are taken, an event file goes out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.tasks.pretraining import Standing


@contextmanager
def tensorboard_writer(folder: Path | None) -> Iterator[Callable[["Standing"], None]]:
    """A function that writes what a step did into a folder; without a folder it writes nothing."""
    if folder is None:
        yield lambda _: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        do = "install it with: pip install 'unmask[lab]'"
        raise InputError("--tensorboard without its package", wanted="tensorboard", do=do) from None
    writers: list[Any] = []

    def write(standing: "Standing") -> None:
        if not writers:  # what an earlier sitting wrote of the steps that are taken again is hidden
            writers.append(SummaryWriter(str(folder), purge_step=standing.step.number))
        for name, value in scalars(standing).items():
            writers[0].add_scalar(name, value, standing.step.number)

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()


def scalars(standing: "Standing") -> dict[str, float]:
    """A step's figures by the names under which TensorBoard shows them."""
    step = standing.step
    figures = {f"{name}_loss": value for name, value in step.losses.items()} | dict(step.figures)
    figures |= {"loss": step.loss, "learning_rate": step.learning_rate, "gradient_norm": step.gradient_norm}
    figures |= {"tokens_per_second": standing.tokens_per_second}
    held_out = standing.held_out or {}
    return {f"training/{n}": v for n, v in figures.items()} | {f"held out/{n}": v for n, v in held_out.items()}
