"""Optimisers: AdamW as torch keeps it, Muon for few steps, LAMB (You et al., 2019) for large batches, AdaGrad.

Only matrices are decayed.
"""

from collections.abc import Callable, Container, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adagrad, AdamW, Optimizer

from unmask.training.muon import Muon

MUON_RATE = 4.0  # the learning rate of Muon's matrices, in those of AdamW's parameters
MUON_DECAY = 0.1


def make_optimiser(
    name: str,
    model: nn.Module,
    *,
    decay: float = 0.01,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-6,
    groups: list[dict[str, Any]] | None = None,  # of parameters, where they are not to be the usual ones
    precision: torch.dtype = torch.float32,  # of an optimiser's own products
) -> Optimizer:
    """An optimiser by its name; the schedule sets the learning rate before every step."""
    groups = groups or (muon_groups(model, decay) if name == "muon" else parameter_groups(model, decay))
    return OPTIMISERS[name](groups, betas, epsilon, precision)


def parameter_groups(
    model: nn.Module, decay: float, *, leave_out: Container[int] = frozenset()
) -> list[dict[str, Any]]:
    """Matrices are decayed, vectors (biases, norms) are not; parameters may be left out by their `id`."""
    learned = [value for value in model.parameters() if value.requires_grad and id(value) not in leave_out]
    matrices = [parameter for parameter in learned if parameter.ndim >= 2]
    vectors = [parameter for parameter in learned if parameter.ndim < 2]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def muon_groups(model: nn.Module, decay: float) -> list[dict[str, Any]]:
    """For Muon: the matrices inside layers are moved orthogonally, everything else as by AdamW."""
    hidden = [value for name, value in model.named_parameters() if value.ndim == 2 and ".layers." in f".{name}"]
    orthogonal = [{"params": hidden, "weight_decay": MUON_DECAY, "lr_scale": MUON_RATE, "orthogonal": True}]
    return [*parameter_groups(model, decay, leave_out={id(value) for value in hidden}), *orthogonal]


class Lamb(Optimizer):
    """Adam whose step for each matrix is scaled to that matrix's own norm; batches of thousands stay stable."""

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
    ) -> None:
        super().__init__(groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Moves every parameter that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group)

    def _move(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state.update(
                step=torch.zeros(()), exp_avg=torch.zeros_like(parameter), exp_avg_sq=torch.zeros_like(parameter)
            )
        state["step"] += 1
        count, (beta1, beta2) = int(state["step"]), group["betas"]
        mean = state["exp_avg"].lerp_(parameter.grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(parameter.grad, parameter.grad, value=1 - beta2)
        root = (square / (1 - beta2**count)).sqrt_().add_(group["eps"])
        update = (mean / (1 - beta1**count)).div_(root).add_(parameter, alpha=group["weight_decay"])
        parameter.sub_(update * (group["lr"] * trust(parameter, update)))


def trust(parameter: Tensor, update: Tensor) -> Tensor:
    """LAMB's ratio: the parameter's norm over the update's, 1 where either is zero.

    >>> trust(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 10.0]))
    tensor(0.5000)
    """
    ratio = parameter.norm() / update.norm()
    return torch.where(torch.isfinite(ratio) & (ratio > 0), ratio, torch.ones_like(ratio))


Maker = Callable[[list[dict[str, Any]], tuple[float, float], float, torch.dtype], Optimizer]
OPTIMISERS: dict[str, Maker] = {
    "adamw": lambda groups, betas, epsilon, _: AdamW(groups, lr=0.0, betas=betas, eps=epsilon, fused=True),
    "muon": lambda groups, betas, epsilon, precision: Muon(groups, betas, epsilon, precision),
    "adagrad": lambda groups, _, epsilon, __: Adagrad(groups, lr=0.0, eps=epsilon),
    "lamb": lambda groups, betas, epsilon, _: Lamb(groups, betas=betas, eps=epsilon),
}
