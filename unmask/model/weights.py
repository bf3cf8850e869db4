"""Stored weights of every published form: a folder or file in, tensors by their published names out.

Forms: `model.safetensors` and `pytorch_model.bin`, whole or in shards, and Google's TensorFlow checkpoints.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from unmask.errors import InputError
from unmask.model.int8_rows import read_from_int8
from unmask.model.names import from_google, standard_names, to_google
from unmask.model.pickled import read_pickled
from unmask.model.tensorflow_checkpoint import index_path, open_checkpoint

FORMS = (  # what a folder may hold, the safest first
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)

NUMBERS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8"}  # as safetensors names them


@dataclass(frozen=True)
class Weights:
    """Tensors by published name, where they were found, and what beside them is no part of a BERT."""

    source: Path
    tensors: dict[str, Tensor]
    foreign: tuple[str, ...] = ()


def find_weights(path: Path) -> Path:
    """The file that a model's weights are in, or the index of the files that they are in."""
    if path.is_dir():
        whole = next((path / name for name in FORMS if (path / name).is_file()), None)
        return whole or _only_checkpoint(path)
    for file in (path, index_path(path)):
        if file.is_file() and file.suffix in READERS:
            return file
    raise InputError(
        f"{path}, which is no model folder or weights file" if path.exists() else f"{path}, which does not exist",
        wanted="a model folder, a .safetensors or .bin file, or the prefix of a TensorFlow checkpoint",
    )


def read_weights(path: Path) -> Weights:
    """The weights of a model folder, of one file, or of a TensorFlow checkpoint by its prefix."""
    file = find_weights(path)
    return READERS[file.suffix](file)


def stored_numbers(path: Path) -> str:
    """What a model's largest matrix is stored in, such as float16; of forms other than safetensors it is not told."""
    file = find_weights(path)
    if file.suffix != ".safetensors":
        return ""
    with safe_open(file, "pt") as stored:
        slices = [stored.get_slice(name) for name in stored.keys()]  # noqa: SIM118 (it is no dictionary)
    kind: str = max(slices, key=lambda tensor: prod(tensor.get_shape())).get_dtype()
    return NUMBERS.get(kind, kind)


def _read_whole(path: Path) -> Weights:
    return Weights(path, standard_names(_tensors(path)))


def _read_shards(index: Path) -> Weights:
    """The tensors of all shards that an index names."""
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(f"{index}, which is damaged", wanted="a JSON object with a weight_map") from error
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        path = index.parent / Path(shard).name  # never outside the folder, whatever the index says
        if not path.is_file():
            raise InputError(f"{index} without its shard {shard}", do="copy the folder again from its source")
        tensors |= _tensors(path)
    return Weights(index, standard_names(tensors))


def _read_google(index: Path) -> Weights:
    """A TensorFlow checkpoint; an optimiser's slots, two thirds of a training checkpoint, are named but not read."""
    checkpoint = open_checkpoint(index.with_suffix(""))
    published = {name: from_google(name) for name in checkpoint.entries}
    tensors = {}
    for name, standard in published.items():
        if standard is not None:
            array = checkpoint.read(name)
            array = array.T if to_google(standard)[1] else array
            tensors[standard] = torch.from_numpy(np.array(array, order="C"))
    return Weights(index, tensors, tuple(name for name, standard in published.items() if standard is None))


def _tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one file, mapped into memory where its form allows."""
    if path.suffix == ".bin":
        return read_pickled(path)
    try:
        return read_from_int8(load_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        what = f"{path}, which is damaged or no safetensors file ({error})"
        raise InputError(what, do="copy it again from its source") from error


def _only_checkpoint(folder: Path) -> Path:
    found = sorted(folder.glob("*.ckpt*.index"))
    if len(found) > 1:
        several = ", ".join(path.stem for path in found)
        raise InputError(f"{folder} with several checkpoints ({several})", do="name one of them by its prefix")
    if not found:
        wanted = f"{', '.join(FORMS)} or a TensorFlow checkpoint in it"
        served = (folder / "onnx").is_dir()
        do = "name the model folder that this serving folder was exported from" if served else ""
        raise InputError(f"{folder}, which holds no weights", wanted=wanted, do=do)
    return found[0]


READERS: dict[str, Callable[[Path], Weights]] = {
    ".safetensors": _read_whole,
    ".bin": _read_whole,
    ".json": _read_shards,
    ".index": _read_google,
}
