"""The loss scale of float16: losses are multiplied so that small gradients do not vanish among its few numbers.

Before clipping, gradients are divided again. A step whose gradients overflow is skipped and the scale is halved; after
many good steps it is doubled (Micikevicius et al., 2018; the rule and its numbers are torch.amp.GradScaler's). Unlike
there the state is two plain numbers that a checkpoint holds, so that a resumed run is exact. Other precisions need no
scale: theirs is one and stays so.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

INITIAL = 65536.0
PATIENCE = 2000  # good steps in a row before the scale is doubled


@dataclass
class LossScale:
    """How much the loss is multiplied by, and how many steps in a row went well with it.

    >>> scale = LossScale.of(torch.float16)
    >>> scale.skips(math.inf), scale.factor
    (True, 32768.0)
    >>> LossScale.of(torch.float32).skips(math.inf)  # not the scale's fault
    False
    """

    factor: float = 1.0
    good: int = 0
    moves: bool = False

    @classmethod
    def of(cls, precision: torch.dtype) -> "LossScale":
        """The scale that a precision starts with."""
        return cls(INITIAL, moves=True) if precision == torch.float16 else cls()

    def undo(self, parameters: Iterable[nn.Parameter]) -> None:
        """Divides the gradients by the scale."""
        if self.moves:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad.mul_(1 / self.factor)

    def skips(self, norm: float) -> bool:
        """Whether a step with gradients of this norm is to be skipped; the scale learns from the answer.

        At a scale of one an overflow has another cause, and skipping would not help.
        """
        if not self.moves or (self.factor <= 1 and not math.isfinite(norm)):
            return False
        overflow = not math.isfinite(norm)
        self.good = 0 if overflow else self.good + 1
        if overflow:
            self.factor /= 2
        elif self.good == PATIENCE:
            self.factor, self.good = self.factor * 2, 0
        return overflow

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint keeps; nothing where the scale never moves."""
        kept = {"scale.factor": self.factor, "scale.good": float(self.good)}
        return {name: torch.tensor(value, dtype=torch.float64) for name, value in kept.items() if self.moves}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes up what a checkpoint kept."""
        if self.moves:
            self.factor, self.good = float(tensors["scale.factor"]), int(tensors["scale.good"])
