"""An encoder that gets more layers: a trained model comes in; one that says nearly the same goes out.

New layers stand among the old ones, each with the queries, keys, values and features of the layer below it, and add
nothing at first: what they would add is multiplied by zero, and their norms give back what came in. So nothing has to
be learned again, where layers repeated on top of one another (Gong et al., 2019) begin half a nat worse.
"""

from copy import deepcopy
from dataclasses import replace
from typing import TypeVar

import torch
from torch import nn

from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead
from unmask.model.layers import Layer

Model = TypeVar("Model", bound=Bert | BertWithHead)


def deepen(model: Model, layers: int) -> Model:
    """A model of so many layers; the one given is left as it is.

    >>> from unmask.data.ragged import pack
    >>> from unmask.model.config import BertConfig
    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=50))
    >>> deep = deepen(bert, 3)
    >>> row = pack([[2, 7, 9, 3]])
    >>> len(deep.layers), bool((deep(row).hidden - bert(row).hidden).abs().max() < 0.01)
    (3, True)
    """
    deeper = deepcopy(model)
    bert = deeper.bert if isinstance(deeper, BertWithHead) else deeper
    if not bert.layers or not len(bert.layers) < layers <= 2 * len(bert.layers):
        wanted = f"{len(bert.layers) + 1} to {2 * len(bert.layers)}, as the model has {len(bert.layers)}"
        raise InputError(f"--layers {layers}", wanted=wanted, do="a model may be deepened again after it has learned")
    below = doubled(len(bert.layers), layers)
    pruned = tuple(bert.config.pruned_heads[source] for source in below) if bert.config.pruned_heads else ()
    bert.config = replace(bert.config, layers=layers, pruned_heads=pruned)
    grown = [Layer(bert.config, number) for number in range(layers)]
    for number, (layer, source) in enumerate(zip(grown, below, strict=True)):
        layer.load_state_dict(bert.layers[source].state_dict())
        if number and source == below[number - 1]:
            _say_nothing(layer)
    bert.layers = nn.ModuleList(grown)  # type: ignore[assignment]
    return deeper


def doubled(layers: int, wanted: int) -> list[int]:
    """Which old layer each layer starts as; those that come twice, the new one second, lie as evenly as they can.

    >>> doubled(4, 6), doubled(4, 5), doubled(2, 4)
    ([0, 1, 1, 2, 2, 3], [0, 1, 2, 2, 3], [0, 0, 1, 1])
    """
    new = wanted - layers
    twice = {number * layers // (new + 1) for number in range(1, new + 1)}
    return [source for source in range(layers) for _ in range(1 + (source in twice))]


@torch.no_grad()
def _say_nothing(layer: Layer) -> None:
    """Makes a layer hand on what it gets: rows that a norm with this layer's own output weights has made.

    Such a row is gain · z + bias with z of mean 0 and variance 1; another norm is undone by the mean and the deviation
    that rows then have on average.
    """
    gain, bias = layer.output_norm.weight, layer.output_norm.bias
    centre, deviation = bias.mean(), (gain.square().mean() + bias.var(correction=0)).sqrt()
    for branch in (layer.attention_out, layer.down):
        nn.init.zeros_(branch.weight)
        nn.init.zeros_(branch.bias)
    for norm in (layer.attention_norm, layer.output_norm):
        nn.init.constant_(norm.weight, float(deviation))
        nn.init.constant_(norm.bias, float(centre))
