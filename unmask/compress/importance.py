"""How much a model needs each of its layers, heads and neurons: a model, its task and examples in, numbers out.

To the first order, taking a part out changes the loss by its output times the loss's gradient there, here summed over
the tokens of a sequence and then taken without its sign (Michel et al., 2019, for heads). Without examples the size of
the weights must do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unmask.compress.overhearing import overheard
from unmask.data.rows import Row
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead
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
    sums = [_Sums() for _ in model.bert.layers]
    model.eval()
    for part in divided(units(rows, together=task.together), PART_TOKENS):
        _add(model, task, make_batch(part, task.per_token), sums)
    return Importance(
        layers=np.array([float(one.layer) for one in sums]),
        heads=tuple(_unit(one.heads) for one in sums),
        neurons=tuple(_unit(one.neurons) for one in sums),
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
class _Sums:
    """What the parts of a layer have added up to so far."""

    layer: Tensor = field(default_factory=lambda: torch.zeros(()))
    heads: Tensor = field(default_factory=lambda: torch.zeros(()))  # (H,)
    neurons: Tensor = field(default_factory=lambda: torch.zeros(()))  # (F,)


def _add(model: BertWithHead, task: Task, batch: TaskBatch, sums: Sequence[_Sums]) -> None:
    """Adds what a batch says of every part."""
    layers = dict(enumerate(model.bert.layers))
    parts = {f"{n}": layer for n, layer in layers.items()} | {
        f"{n}.out": one.attention_out for n, one in layers.items()
    }
    with overheard(parts) as heard:
        losses, _ = task.losses(model.learn(batch.ragged, None, whole=True), batch)
    asked = [[heard[f"{n}"].said, heard[f"{n}.out"].taken, layer.down.weight] for n, layer in layers.items()]
    found = iter(torch.autograd.grad(sum(losses.values()), [one for three in asked for one in three]))  # type: ignore[arg-type]
    owners = torch.from_numpy(np.repeat(np.arange(len(batch.ragged.lengths)), batch.ragged.lengths))
    for number, layer in layers.items():
        whole, context, own = heard[f"{number}"], heard[f"{number}.out"].taken, sums[number]
        changes = ((whole.said - whole.taken) * next(found)).sum(-1, keepdim=True)  # (T, 1)
        gathered = (context * next(found)).unflatten(-1, (layer.heads, -1)).sum(-1)  # (T, H)
        own.layer = own.layer + _of_sequences(changes, owners).sum()
        own.heads = own.heads + _of_sequences(gathered, owners)
        # a neuron speaks through its column of `down` alone: weight times gradient there is output times gradient
        own.neurons = own.neurons + (layer.down.weight * next(found)).sum(0).abs().detach()


def _of_sequences(products: Tensor, owners: Tensor) -> Tensor:
    """Products of tokens summed over each sequence, and their sizes over all sequences."""  # (T, N) -> (N,)
    summed = products.detach().new_zeros(int(owners[-1]) + 1, products.shape[1])
    return summed.index_add(0, owners.to(products.device), products.detach()).abs().sum(0)


def _unit(numbers: Tensor) -> Numbers:
    """Numbers of a layer as a vector of length one: layers differ in the size of their gradients (Michel et al.)."""
    found: Numbers = numbers.double().cpu().numpy()
    return found / max(float(np.linalg.norm(found)), np.finfo(np.float64).tiny)
