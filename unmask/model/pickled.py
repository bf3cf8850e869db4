"""Old `pytorch_model.bin` files: a path in, named tensors out, and nothing that the file says is ever run.

A pickle is a program. torch's own restricted unpickler (`weights_only=True`) can build tensors and plain containers and
nothing else; it reads both forms of the file, today's zip and the older bare pickle.
"""

import re
import warnings
import zipfile
from pathlib import Path

import torch
from torch import Tensor

from unmask.errors import InputError


def read_pickled(path: Path) -> dict[str, Tensor]:
    """The named tensors of a `.bin` file, mapped into memory where its form allows.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pytorch_model.bin"
    >>> torch.save({"classifier.bias": torch.zeros(2)}, path)
    >>> read_pickled(path)
    {'classifier.bias': tensor([0., 0.])}
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # torch remarks on pickles of other versions
            found = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # a damaged program may fail in any way
        raise _refusal(path, error) from error
    if not isinstance(found, dict):
        raise InputError(
            f"{path} with a {type(found).__name__} in it", wanted="tensors by name, as torch.save writes them"
        )
    for name, tensor in found.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise InputError(
                f"{path} with a {type(tensor).__name__} under {name!r}", wanted="nothing but named tensors"
            )
    return dict(found)


def _refusal(path: Path, error: Exception) -> InputError:
    """What to say of a file that torch would not read: what it asked for, or that it is damaged."""
    asked = re.search(r"GLOBAL (\S+) ", str(error))
    if asked:
        return InputError(
            f"{path}, which asks for {asked[1]}",
            wanted="tensors and nothing else",
            do="do not open it with other tools unless you trust its source",
        )
    return InputError(f"{path}, which is damaged or no PyTorch file", wanted="a file that torch.save wrote")
