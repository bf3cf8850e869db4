"""Parts taken out of a model for good: whole layers, whole attention heads, neurons of the feed-forward parts.

A model and what is to stay come in, a smaller model goes out that computes what the larger one would with the others'
outputs at zero. Folders keep the published layout; fewer heads in a layer are said by `pruned_heads` in `config.json`.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unmask.compress.importance import Numbers
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.heads import BertWithHead

Model = TypeVar("Model", bound=Bert | BertWithHead)
Kept = Sequence[Sequence[int]]  # of each layer, the numbers of what stays


def keep_layers(model: Model, layers: Sequence[int]) -> Model:
    """The model with these layers only, in their order.

    >>> keep_layers(Bert(BertConfig.named("mini", vocabulary_size=9)), [0, 3]).config.layers
    2
    """
    bert = _bert(model)
    order = sorted(layers)
    pruned = tuple(bert.config.pruned_heads[number] for number in order) if bert.config.pruned_heads else ()
    config = replace(bert.config, layers=len(order), pruned_heads=pruned)
    state = {name: value for name, value in bert.state_dict().items() if not name.startswith("layers.")}
    for place, number in enumerate(order):
        state |= {f"layers.{place}.{name}": value for name, value in bert.layers[number].state_dict().items()}
    return _with(model, config, state)


def keep_heads(model: Model, heads: Kept) -> Model:
    """The model with these heads of each layer, counted among those that it has; at least one a layer.

    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=9))
    >>> keep_heads(bert, [[0, 1], [1]]).config.pruned_heads
    ((), (0,))
    """
    bert = _bert(model)
    state = bert.state_dict()
    pruned = []
    for number, kept in enumerate(heads):
        names = _present_heads(bert.config, number)
        pruned.append(tuple(sorted(set(range(bert.config.heads)) - {names[head] for head in kept})))
        places = _head_places(sorted(kept), bert.config.head_width)
        rows = torch.cat([places + part * len(names) * bert.config.head_width for part in range(3)])
        own = f"layers.{number}"
        for name in (f"{own}.qkv.weight", f"{own}.qkv.bias"):
            state[name] = state[name][rows]
        state[f"{own}.attention_out.weight"] = state[f"{own}.attention_out.weight"][:, places]
    lost = tuple(pruned) if any(pruned) else ()
    return _with(model, replace(bert.config, pruned_heads=lost), state)


def keep_neurons(model: Model, neurons: Kept) -> Model:
    """The model with these neurons in the feed-forward part of each layer, as many in each.

    >>> keep_neurons(Bert(BertConfig.named("tiny", vocabulary_size=9)), [[0, 1, 5]] * 2).config.feed_forward
    3
    """
    bert = _bert(model)
    state = bert.state_dict()
    for number, kept in enumerate(neurons):
        places = torch.tensor(sorted(kept))
        own = f"layers.{number}"
        state[f"{own}.up.weight"] = state[f"{own}.up.weight"][places]
        state[f"{own}.up.bias"] = state[f"{own}.up.bias"][places]
        state[f"{own}.down.weight"] = state[f"{own}.down.weight"][:, places]
    return _with(model, replace(bert.config, feed_forward=len(neurons[0])), state)


def best_heads(importance: Sequence[Numbers], share: float) -> list[list[int]]:
    """The most important share of all heads, and in any case the best one of each layer.

    >>> best_heads([np.array([0.9, 0.8, 0.7]), np.array([0.1, 0.2, 0.1])], 0.5)
    [[0, 1], [1]]
    """
    check_share(share, "heads")
    wanted = max(len(importance), round(share * sum(map(len, importance))))
    kept = [{int(np.argmax(numbers))} for numbers in importance]
    ranked = sorted(
        (-float(value), layer, head) for layer, numbers in enumerate(importance) for head, value in enumerate(numbers)
    )
    for _, layer, head in ranked:
        if sum(map(len, kept)) == wanted:
            break
        kept[layer].add(head)
    return [sorted(heads) for heads in kept]


def best_neurons(importance: Sequence[Numbers], share: float) -> list[list[int]]:
    """The most important share of each layer's neurons; all layers keep as many, as published shapes have it."""
    check_share(share, "neurons")
    wanted = max(1, round(share * len(importance[0])))
    return [sorted(np.argsort(-numbers, kind="stable")[:wanted].tolist()) for numbers in importance]


def layer_choices(importance: Numbers, keep: int) -> dict[str, tuple[int, ...]]:
    """Which layers could stay: evenly spread ones, the lowest, or the most important; each choice once.

    >>> layer_choices(np.array([5.0, 1.0, 1.0, 6.0]), 2)
    {'spread': (0, 3), 'lowest': (0, 1)}
    """
    count = len(importance)
    if not 1 <= keep <= count:
        raise InputError(f"--layers {keep}", wanted=f"1 to {count}, the layers of this model")
    found: dict[str, tuple[int, ...]] = {}
    for name, choose in CHOICES.items():
        chosen = tuple(choose(importance, keep))
        if chosen not in found.values():
            found[name] = chosen
    return found


def spread(count: int, keep: int) -> list[int]:
    """Numbers spread evenly over a range, its ends among them where there are two or more.

    >>> spread(12, 4), spread(4, 1)
    ([0, 4, 7, 11], [0])
    """
    places: NDArray[np.float64] = np.linspace(0, count - 1, keep)
    return [round(place) for place in places.tolist()]


CHOICES: dict[str, Callable[[Numbers, int], Sequence[int]]] = {
    "spread": lambda importance, keep: spread(len(importance), keep),
    "lowest": lambda _, keep: range(keep),
    "important": lambda importance, keep: sorted(np.argsort(-importance, kind="stable")[:keep].tolist()),
}


def check_share(share: float, what: str) -> None:
    """Refuses a share that leaves nothing, or more than there is."""
    if not 0 < share <= 1:
        raise InputError(f"--{what} {share:g}", wanted="the share to keep, such as 0.5")


def _bert(model: Bert | BertWithHead) -> Bert:
    if isinstance(model, BertWithHead) and model.reads_layers:
        raise InputError("a model whose head reads features of several layers", wanted="one that was fine-tuned whole")
    return model.bert if isinstance(model, BertWithHead) else model


def _with(model: Model, config: BertConfig, state: dict[str, Tensor]) -> Model:
    """The model with another encoder under its head; the one given stays as it is."""
    bert = Bert(config)
    bert.load_state_dict({name: value.clone() for name, value in state.items()})
    if isinstance(model, BertWithHead):
        return BertWithHead(bert, deepcopy(model.head)).eval()  # type: ignore[return-value]
    return bert.eval()  # type: ignore[return-value]


def _present_heads(config: BertConfig, layer: int) -> list[int]:
    """The heads that a layer has, by their numbers in the model as it was before any was taken out."""
    lost = config.pruned_heads[layer] if config.pruned_heads else ()
    return [head for head in range(config.heads) if head not in lost]


def _head_places(heads: Sequence[int], width: int) -> Tensor:
    """The places of some heads' numbers among all.

    >>> _head_places([0, 2], 2).tolist()
    [0, 1, 4, 5]
    """
    return torch.cat([torch.arange(head * width, (head + 1) * width) for head in heads])
