"""Muon (Jordan et al., 2024): the hidden matrices move by an orthogonalised momentum, all else by AdamW.

The momentum's singular values are all made about one, so that a step moves a matrix equally far in every direction
that its gradients name, also in those that are rare. torch's own Muon always rounds to bfloat16, which a CPU without
such products emulates, and knows nothing of fused query, key and value matrices; here steps are computed in the
precision that the run has its products in.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import AdamW

from unmask.training.distributed import divided, whole

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic whose iteration drives singular values towards one
ITERATIONS = 5
MOMENTUM = 0.95
LIKE_ADAM = 0.2  # the size that an entry of Adam's step usually has, in learning rates (Liu et al., 2025)


class Muon(AdamW):
    """AdamW whose groups marked `orthogonal` move by orthogonalised momentum instead."""

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        betas: tuple[float, float],
        epsilon: float,
        precision: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(groups, lr=0.0, betas=betas, eps=epsilon, fused=True)
        self.precision = torch.float32 if precision == torch.float16 else precision  # its range is too narrow

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Moves every parameter that has a gradient."""
        assert closure is None
        groups = self.param_groups
        for group in groups:
            if group.get("orthogonal"):
                self._move(group)
        self.param_groups = [group for group in groups if not group.get("orthogonal")]
        try:
            super().step()
        finally:
            self.param_groups = groups

    def _move(self, group: dict[str, Any]) -> None:
        parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
        steps = orthogonal_steps([self._update(parameter) for parameter in parameters], self.precision)
        for parameter, step in zip(parameters, steps, strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"]).sub_(divided(step, parameter), alpha=group["lr"])

    def _update(self, parameter: Tensor) -> Tensor:
        """The gradient with its momentum, looked ahead (Nesterov); whole, where processes hold parts of it."""
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        assert parameter.grad is not None
        momentum = state["momentum"].mul_(MOMENTUM).add_(parameter.grad)
        return whole(parameter.grad.add(momentum, alpha=MOMENTUM))


def orthogonal_steps(updates: Sequence[Tensor], precision: torch.dtype = torch.float32) -> list[Tensor]:
    """A step for each matrix, orthogonal in each of its blocks, its entries about as large as Adam's would be.

    Blocks of one shape are computed as one stack.
    """
    blocks = [square_blocks(update) for update in updates]
    flat = [block for parts in blocks for block in parts]
    found: dict[int, Tensor] = {}
    for shape in dict.fromkeys(block.shape for block in flat):
        places = [place for place, block in enumerate(flat) if block.shape == shape]
        stack = torch.stack([flat[place] for place in places])
        steps = orthogonalised(stack, precision).float() * (LIKE_ADAM * math.sqrt(max(shape)))
        found |= dict(zip(places, steps, strict=True))
    ordered = iter(found[place] for place in range(len(flat)))
    return [torch.cat([next(ordered) for _ in parts]) for parts in blocks]


def square_blocks(matrix: Tensor) -> list[Tensor]:
    """Queries, keys and values lie one under the other in one matrix of three squares; others are one block.

    >>> [block.shape[0] for block in square_blocks(torch.zeros(6, 2))], len(square_blocks(torch.zeros(8, 2)))
    ([2, 2, 2], 1)
    """
    return list(matrix.split(matrix.shape[1])) if matrix.shape[0] == 3 * matrix.shape[1] else [matrix]


def orthogonalised(matrices: Tensor, precision: torch.dtype = torch.float32) -> Tensor:
    """The nearest matrices with all singular values about one, by Newton-Schulz iteration.

    The shorter way for wide matrices is for float32: in bfloat16 products of products lose their way.

    >>> step = orthogonalised(torch.tensor([[[3.0, 0.0], [4.0, 1.0]]]))
    >>> bool((torch.linalg.svdvals(step) - 1).abs().max() < 0.4)
    True
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = (x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)).to(precision)
    shorter = 2 * x.shape[1] <= x.shape[2] and precision == torch.float32
    x = _by_products_of_itself(x) if shorter else _by_itself(x)
    return x.mT if tall else x


def _by_itself(x: Tensor) -> Tensor:
    """The iteration as it is defined: x becomes an odd polynomial of x."""
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=third, alpha=fifth), x, beta=first)
    return x


def _by_products_of_itself(x: Tensor) -> Tensor:
    """The same for wide matrices in fewer products: every factor is a polynomial of the small square x xᵀ."""
    first, third, fifth = COEFFICIENTS
    gram = x @ x.mT
    one = torch.eye(x.shape[1], dtype=x.dtype, device=x.device).mul_(first)
    whole = None
    for number in range(ITERATIONS):
        factor = torch.baddbmm(gram, gram, gram, beta=third, alpha=fifth).add_(one)
        whole = factor if whole is None else factor @ whole
        if number < ITERATIONS - 1:
            gram = factor @ gram @ factor
    assert whole is not None
    return whole @ x
