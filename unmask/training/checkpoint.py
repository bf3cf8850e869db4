"""Checkpoints for an exact resume: weights and optimiser state in one safetensors file, sealed by its checksum.

A checkpoint exists once its seal does. The newest one that matches its checksum is taken; a damaged one is passed over.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from unmask.files import atomic_path, sha256, write_text
from unmask.training.distributed import divided, whole

KEPT = 2  # the last one, and the one before in case the last is damaged


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training after a number of steps."""

    step: int
    journal_bytes: int  # how much of the journal belongs to it
    tensors: dict[str, Tensor]


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint whole or not at all, then removes those that are too old."""
    weights = folder / f"{checkpoint.step:09d}.safetensors"
    with atomic_path(weights) as temporary:
        save_file(checkpoint.tensors, temporary)
        checksum = sha256(temporary)
    seal = {"step": checkpoint.step, "journal_bytes": checkpoint.journal_bytes, "sha256": checksum}
    write_text(weights.with_suffix(".json"), json.dumps(seal) + "\n")
    for old in sorted(folder.glob("*.json"))[:-KEPT]:
        old.unlink()
        old.with_suffix(".safetensors").unlink(missing_ok=True)


def latest(folder: Path, note: Callable[[str], None] = lambda _: None) -> Checkpoint | None:
    """The newest undamaged checkpoint; `note` is told of each damaged one."""
    for seal_path in sorted(folder.glob("*.json"), reverse=True):
        weights = seal_path.with_suffix(".safetensors")
        try:
            seal = json.loads(seal_path.read_text(encoding="utf-8"))
            if sha256(weights) != seal["sha256"]:
                raise ValueError("its checksum does not match")
            return Checkpoint(seal["step"], seal["journal_bytes"], load_file(weights))
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            note(f"checkpoint {weights.name} is damaged ({error}): falling back to the one before")
    return None


def collect(model: nn.Module, optimiser: Optimizer) -> dict[str, Tensor]:
    """All tensors of a training by name, whole: weights as `model.…`, optimiser state as `optimiser.….exp_avg`."""
    tensors = {f"model.{name}": whole(value.detach()).contiguous() for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            tensors[f"optimiser.{name}.{key}"] = whole(value).contiguous()
    return tensors


def restore(tensors: dict[str, Tensor], model: nn.Module, optimiser: Optimizer) -> None:
    """Puts the tensors of `collect` back; every name and shape must be the model's own."""
    own = model.state_dict()
    weights = {name[6:]: value for name, value in tensors.items() if name.startswith("model.")}
    model.load_state_dict({name: divided(value, own.get(name, value)) for name, value in weights.items()})
    parameters = dict(model.named_parameters())
    for name, value in tensors.items():
        if name.startswith("optimiser."):
            path, key = name.removeprefix("optimiser.").rsplit(".", 1)
            parameter = parameters[path]
            optimiser.state[parameter][key] = divided(value, parameter) if value.ndim else value
