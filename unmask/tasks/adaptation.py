"""How a pretrained encoder is adapted: layers that stay as they are, rates that fall towards the input, adversaries.

Freezing and parameter groups act on the model before training; adversarial training wraps the learner, so the one loop
stays as it is. FGM is the fast gradient method of Miyato et al. (2017).
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.dropout import Chance
from unmask.model.heads import BertWithHead
from unmask.tasks.task import Losses, TaskBatch
from unmask.training.optim import parameter_groups

PUBLISHED_SEGMENTS = 2  # the first and the second text of a row


def freeze(model: BertWithHead, what: str) -> None:
    """Parameters that do not learn: with "2" the embeddings and the first two layers, with "all" the whole encoder.

    Segments beyond the usual two are a task's own: they learn above frozen layers too, or their mark would say nothing.

    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import make_head
    >>> config = BertConfig.named("tiny", vocabulary_size=9)
    >>> model = BertWithHead(Bert(config), make_head("classes", config))
    >>> freeze(model, "1")
    >>> sorted({name.split(".weight")[0] for name, value in model.named_parameters() if not value.requires_grad})[-2:]
    ['bert.layers.0.up', 'bert.layers.0.up.bias']
    """
    if not what:
        return
    for part in _frozen_parts(model.bert, what):
        part.requires_grad_(False)
    if what != "all" and model.bert.config.segments > PUBLISHED_SEGMENTS:
        model.bert.embeddings.segments.requires_grad_(True)


def _frozen_parts(bert: Bert, what: str) -> list[nn.Module]:
    if what == "all":
        return [bert]
    if not what.isdecimal() or int(what) > len(bert.layers):
        raise InputError(f"--freeze {what}", wanted=f"all, or a number of layers from 0 to {len(bert.layers)}")
    return [bert.embeddings, *bert.layers[: int(what)]]


def adapted_groups(model: nn.Module, decay: float, layer_decay: float) -> list[dict[str, Any]]:
    """Parameter groups whose rate falls by `layer_decay` with every layer below the head; the head's come first."""
    if layer_decay == 1:
        return parameter_groups(model, decay)
    depths = {id(value): depth(name) for name, value in model.named_parameters()}
    layers = max((found for found in depths.values() if found is not None), default=0)
    groups = []
    for level in [None, *range(layers, -1, -1)]:
        others = {number for number, found in depths.items() if found != level}
        scale = 1.0 if level is None else layer_decay ** (layers + 1 - level)
        groups += [{**group, "lr_scale": scale} for group in parameter_groups(model, decay, leave_out=others)]
    return groups


def depth(name: str) -> int | None:
    """How high a parameter stands in the encoder: embeddings 0, the first layer 1; none above all layers.

    >>> depth("bert.embeddings.norm.bias"), depth("bert.layers.3.up.weight"), depth("bert.pooler.bias")
    (0, 4, None)
    """
    if ".embeddings." in f".{name}":
        return 0
    layer = re.search(r"\bbert\.layers\.(\d+)\.", name)
    return int(layer[1]) + 1 if layer else None


def adversarial(learner: nn.Module, model: BertWithHead, epsilon: float) -> nn.Module:
    """A learner that is taught by adversaries too, if they are to move anything."""
    if not epsilon:
        return learner
    if model.reads_layers:
        raise InputError("adversarial training of features", wanted="one of the two: cached features do not move")
    return AdversarialLearner(learner, model.bert.embeddings.words, epsilon)


class AdversarialLearner(nn.Module):
    """Learns from every batch twice: as it is, and with its word embeddings moved to where the loss grows fastest.

    The embeddings of each sequence move by `epsilon` in all. Either pass drops out alike; the losses are the sums of
    both passes, the figures those of the first.
    """

    def __init__(self, learner: nn.Module, words: nn.Embedding, epsilon: float) -> None:
        super().__init__()
        self.learner, self.epsilon = learner, epsilon
        self._words = [words]  # in a list: they are the learner's own, and not to be listed as parameters twice

    def forward(self, batch: TaskBatch, chance: Chance | None) -> Losses:
        """The losses of both passes."""
        seen: list[Tensor] = []
        with self._changed(lambda words: seen.append(_watched(words))):
            losses, figures = self.learner(batch, chance)
        with torch.autocast(seen[0].device.type, enabled=False):  # as where a loop goes backward
            (gradient,) = torch.autograd.grad(sum(losses.values()), seen, retain_graph=True)  # (T, D)
        moved = self.epsilon * directions(gradient, torch.from_numpy(batch.ragged.lengths).to(gradient.device))
        with self._changed(lambda words: words + moved):
            again, _ = self.learner(batch, chance)
        return {name: loss + again[name] for name, loss in losses.items()}, figures

    @contextmanager
    def _changed(self, change: Callable[[Tensor], Tensor | None]) -> Iterator[None]:
        """Word embeddings pass through `change` on their way into the encoder."""
        handle = self._words[0].register_forward_hook(lambda _, __, words: change(words))
        try:
            yield
        finally:
            handle.remove()


def _watched(words: Tensor) -> Tensor:
    return words if words.requires_grad else words.requires_grad_()


def directions(gradient: Tensor, lengths: Tensor) -> Tensor:
    """The gradient of each sequence's embeddings, scaled to a norm of one over all its tokens.

    >>> directions(torch.tensor([[3.0], [4.0], [0.0]]), torch.tensor([2, 1])).flatten().tolist()
    [0.6000000238418579, 0.800000011920929, 0.0]
    """  # (T, D) -> (T, D)
    owners = torch.repeat_interleave(lengths)
    squares = gradient.new_zeros(len(lengths)).index_add(0, owners, gradient.square().sum(-1))
    norms = squares.sqrt().clamp(min=torch.finfo(gradient.dtype).tiny)
    return gradient / norms[owners, None]
