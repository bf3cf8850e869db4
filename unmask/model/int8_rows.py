"""Matrices in int8, each row by a scale of its own: a quarter of float32's bytes, numbers nearly as they were.

In: a tensor under its name, as it is; out: its steps and its scales, each under a name of its own; and back.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

VALUES, SCALE = "@int8", "@scale"  # behind a tensor's name: its numbers in steps, and how much a step of each row is
STEPS = 127  # on either side of zero
TINIEST = 1e-5  # greatest number of a row for which it is worth having a scale in float16


def rounded(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The steps of a matrix (N, …) and the scale of each row (N,).

    >>> rounded(torch.tensor([[1.0, -2.0], [0.0, 0.5]]))[0].tolist()
    [[64, -127], [0, 127]]
    """
    scale = matrix.float().abs().flatten(1).amax(1).clamp_min(TINIEST) / STEPS
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def exact(steps: Tensor, scale: Tensor) -> Tensor:
    """What steps and scales say, in float32."""
    return steps.float() * scale.float()[:, None]


def stored_in_int8(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All matrices as their steps and scales; what is no matrix stays as it is.

    >>> sorted(stored_in_int8({"weight": torch.ones(2, 3), "bias": torch.ones(3)}))
    ['bias', 'weight@int8', 'weight@scale']
    """
    stored: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.is_floating_point():
            stored[name + VALUES], stored[name + SCALE] = rounded(tensor)
        else:
            stored[name] = tensor
    return stored


def read_from_int8(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a file, those in int8 as numbers again.

    >>> tensors = {"weight": torch.tensor([[0.5, -1.0]]), "bias": torch.ones(3)}
    >>> bool((read_from_int8(stored_in_int8(tensors))["weight"] - tensors["weight"]).abs().max() < 0.004)
    True
    """
    names = [name.removesuffix(VALUES) for name in stored if name.endswith(VALUES)]
    rounded_away = {name + part for name in names for part in (VALUES, SCALE)}
    whole = {name: tensor for name, tensor in stored.items() if name not in rounded_away}
    return whole | {name: exact(stored[name + VALUES], stored[name + SCALE]) for name in names}
