"""The learning rate as a function of the step: a warm-up, then a decay that ends when the training does."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Peak, warm-up, shape and end of the learning rate.

    >>> [round(Schedule(peak=1.0, steps=6, warmup=2)(step), 2) for step in range(7)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """

    peak: float  # the highest learning rate
    steps: int  # the whole training
    warmup: int = 0  # steps until the peak
    shape: str = "linear"  # linear, cosine or constant, from the peak to the end
    final: float = 0.0  # the learning rate at the end

    def __call__(self, step: float) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.final + (self.peak - self.final) * SHAPES[self.shape](done)


SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda done: 1 - done,
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "constant": lambda _: 1.0,
}
