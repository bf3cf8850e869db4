"""Stored weights of every published form: a folder or file in, tensors by their published names out.

Forms: `model.safetensors` and `pytorch_model.bin`, whole or in shards, and Google's TensorFlow checkpoints.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from unmask.errors import InputError
from unmask.model.names import from_google, standard_names, to_google
from unmask.model.pickled import read_pickled
from unmask.model.tensorflow_checkpoint import open_checkpoint


@dataclass(frozen=True)
class Weights:
    """Tensors by published name, where they were found, and what beside them is no part of a BERT."""

    source: Path
    tensors: dict[str, Tensor]
    foreign: tuple[str, ...] = ()


def read_weights(path: Path) -> Weights:
    """The weights of a model folder, or of one file: .safetensors, .bin, or the prefix of a TensorFlow checkpoint."""
    if not path.is_dir():
        return _read_file(path)
    for name, read in FORMS.items():
        if (path / name).is_file():
            return Weights(path / name, standard_names(read(path / name)))
    return _read_google(_only_checkpoint(path))


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one .safetensors file, mapped into memory."""
    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            f"{path}, which is damaged or no safetensors file ({error})", do="copy it again from its source"
        ) from error


def _read_file(path: Path) -> Weights:
    if path.suffix in SUFFIXES and path.is_file():
        return Weights(path, standard_names(SUFFIXES[path.suffix](path)))
    if path.suffix == ".index":
        return _read_google(path.with_suffix(""))
    if path.with_name(f"{path.name}.index").is_file():
        return _read_google(path)
    raise InputError(
        f"{path}, which is no model folder or weights file" if path.exists() else f"{path}, which does not exist",
        wanted="a model folder, a .safetensors or .bin file, or the prefix of a TensorFlow checkpoint",
    )


def _read_shards(index: Path) -> dict[str, Tensor]:
    """The tensors of all shards that an index names."""
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(f"{index}, which is damaged", wanted="a JSON object with a weight_map") from error
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        path = index.parent / Path(shard).name  # never outside the folder, whatever the index says
        if not path.is_file():
            raise InputError(f"{index} without its shard {shard}", do="copy the folder again from its source")
        tensors |= SUFFIXES[path.suffix](path)
    return tensors


def _only_checkpoint(folder: Path) -> Path:
    found = sorted(folder.glob("*.ckpt*.index"))
    if len(found) == 1:
        return found[0].with_suffix("")
    if found:
        several = ", ".join(path.stem for path in found)
        raise InputError(f"{folder} with several checkpoints ({several})", do="name one of them by its prefix")
    raise InputError(f"{folder}, which holds no weights", wanted=f"{', '.join(FORMS)} or a TensorFlow checkpoint in it")


def _read_google(prefix: Path) -> Weights:
    """A TensorFlow checkpoint; an optimiser's slots, two thirds of a training checkpoint, are named but not read."""
    checkpoint = open_checkpoint(prefix)
    published = {name: from_google(name) for name in checkpoint.entries}
    tensors = {}
    for name, standard in published.items():
        if standard is not None:
            array = checkpoint.read(name)
            array = array.T if to_google(standard)[1] else array
            tensors[standard] = torch.from_numpy(np.array(array, order="C"))
    return Weights(prefix, tensors, tuple(name for name, standard in published.items() if standard is None))


SUFFIXES: dict[str, Callable[[Path], dict[str, Tensor]]] = {".safetensors": read_safetensors, ".bin": read_pickled}

FORMS: dict[str, Callable[[Path], dict[str, Tensor]]] = {  # what a folder may hold, the safest first
    "model.safetensors": read_safetensors,
    "model.safetensors.index.json": _read_shards,
    "pytorch_model.bin": read_pickled,
    "pytorch_model.bin.index.json": _read_shards,
}
