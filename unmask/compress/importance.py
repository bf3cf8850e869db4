"""How much a model needs each of its layers, heads and neurons: a model, its task and examples in, numbers out.

To the first order, taking a part out changes the loss by its output times the loss's gradient there, here summed over
the tokens of a sequence and then taken without its sign (Michel et al., 2019, for heads). Without examples the size of
the weights must do.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unmask.data.rows import Row
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead
from unmask.model.layers import Layer
from unmask.tasks.finetuning import PART_TOKENS, divided, units
from unmask.tasks.task import Task, TaskBatch, make_batch

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Importance:
    """What the loss would change by; comparable within a kind, and between layers."""

    layers: Numbers  # (L,)
    heads: tuple[Numbers, ...]  # (H,) of each layer
    neurons: tuple[Numbers, ...]  # (F,) of each layer


def importance(model: BertWithHead, task: Task, rows: Sequence[Row]) -> Importance:
    """The importance of every part on rows with targets."""
    watched = [_Watched() for _ in model.bert.layers]
    model.eval()
    with _watching(model.bert.layers, watched):
        for part in divided(units(rows, together=task.together), PART_TOKENS):
            _note(model, task, make_batch(part, task.per_token), watched)
    return Importance(
        layers=np.array([float(one.layer) for one in watched]),
        heads=tuple(_unit(one.heads) for one in watched),
        neurons=tuple(_unit(one.neurons) for one in watched),
    )


def importance_by_weights(bert: Bert) -> Importance:
    """The same without examples: how large the weights into and out of a part are; upper layers count least.

    >>> from unmask.model.config import BertConfig
    >>> found = importance_by_weights(Bert(BertConfig.named("tiny", vocabulary_size=9)))
    >>> found.layers.tolist(), [len(heads) for heads in found.heads]
    ([2.0, 1.0], [2, 2])
    """
    heads, neurons = [], []
    for layer in bert.layers:
        value = layer.qkv.weight.chunk(3)[2].unflatten(0, (layer.heads, -1))  # (H, K, D)
        out = layer.attention_out.weight.unflatten(1, (layer.heads, -1))  # (D, H, K)
        heads.append(value.norm(dim=(1, 2)) * out.norm(dim=(0, 2)))
        neurons.append(layer.up.weight.norm(dim=1) * layer.down.weight.norm(dim=0))
    count = len(bert.layers)
    return Importance(
        layers=np.arange(count, 0, -1.0),
        heads=tuple(_unit(one.detach()) for one in heads),
        neurons=tuple(_unit(one.detach()) for one in neurons),
    )


@dataclass
class _Watched:
    """What went through a layer in the last pass, and what its parts have added up to so far."""

    seen: dict[str, Tensor] = field(default_factory=dict)
    layer: Tensor = field(default_factory=lambda: torch.zeros(()))
    heads: Tensor = field(default_factory=lambda: torch.zeros(()))
    neurons: Tensor = field(default_factory=lambda: torch.zeros(()))


@contextmanager
def _watching(layers: Sequence[Layer], watched: Sequence[_Watched]) -> Iterator[None]:
    """Keeps what goes through layers while the block runs."""
    handles = []
    for layer, one in zip(layers, watched, strict=True):
        handles.append(layer.register_forward_hook(_keep_layer(one)))
        handles.append(layer.attention_out.register_forward_pre_hook(_keep_context(one)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _keep_layer(one: _Watched) -> Any:
    def keep(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        one.seen |= {"input": inputs[0], "output": output}

    return keep


def _keep_context(one: _Watched) -> Any:
    def keep(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        one.seen["context"] = inputs[0]

    return keep


def _note(model: BertWithHead, task: Task, batch: TaskBatch, watched: Sequence[_Watched]) -> None:
    """Adds what a batch says of every part."""
    losses, _ = task.losses(model.learn(batch.ragged, None), batch)
    asked: list[Tensor] = []
    for layer, one in zip(model.bert.layers, watched, strict=True):
        asked += [one.seen["output"], one.seen["context"], layer.down.weight]
    found = torch.autograd.grad(sum(losses.values()), asked)  # type: ignore[arg-type]
    owners = torch.from_numpy(np.repeat(np.arange(len(batch.ragged.lengths)), batch.ragged.lengths))
    for number, (layer, one) in enumerate(zip(model.bert.layers, watched, strict=True)):
        to_output, to_context, to_down = found[3 * number : 3 * number + 3]
        changes = ((one.seen["output"] - one.seen["input"]) * to_output).sum(-1, keepdim=True)  # (T, 1)
        gathered = (one.seen["context"] * to_context).unflatten(-1, (layer.heads, -1)).sum(-1)  # (T, H)
        one.layer = one.layer + _of_sequences(changes, owners).sum()
        one.heads = one.heads + _of_sequences(gathered, owners)
        # a neuron speaks through its column of `down` alone: weight times gradient there is output times gradient
        one.neurons = one.neurons + (layer.down.weight * to_down).sum(0).abs().detach()


def _of_sequences(products: Tensor, owners: Tensor) -> Tensor:
    """Products of tokens summed over each sequence, and their sizes over all sequences."""  # (T, N) -> (N,)
    summed = products.detach().new_zeros(int(owners[-1]) + 1, products.shape[1])
    return summed.index_add(0, owners.to(products.device), products.detach()).abs().sum(0)


def _unit(numbers: Tensor) -> Numbers:
    """Numbers of a layer as a vector of length one: layers differ in the size of their gradients (Michel et al.)."""
    found: Numbers = numbers.double().cpu().numpy()
    return found / max(float(np.linalg.norm(found)), np.finfo(np.float64).tiny)
