"""What parts of a model take in and say during a pass: modules by name in, their inputs and outputs out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class Heard:
    """The last pass through a module."""

    taken: Tensor
    said: Tensor


@contextmanager
def overheard(parts: Mapping[str, nn.Module]) -> Iterator[dict[str, Heard]]:
    """Listens to modules while the block runs.

    >>> import torch
    >>> double = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(double.weight, 2.0)
    >>> with overheard({"double": double}) as heard:
    ...     _ = double(torch.tensor([3.0]))
    >>> heard["double"].taken.item(), heard["double"].said.item()
    (3.0, 6.0)
    """
    heard: dict[str, Heard] = {}
    handles = [module.register_forward_hook(_listener(heard, name)) for name, module in parts.items()]
    try:
        yield heard
    finally:
        for handle in handles:
            handle.remove()


def _listener(heard: dict[str, Heard], name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
    def listen(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        heard[name] = Heard(inputs[0], output)

    return listen
