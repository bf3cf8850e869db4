"""A frozen encoder's layers as features (Devlin et al., 2018, section 5.3): what is read of them, and what reads it.

All layers of a ragged batch come in; the chosen ones, mixed or side by side, go through a two-layer BiLSTM or straight
to a linear classifier; scores for each token, or for each sequence, go out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from unmask.errors import InputError
from unmask.model.bert import Encoded, initialise
from unmask.model.config import BertConfig
from unmask.model.crf import Crf
from unmask.model.dropout import Chance, drop
from unmask.model.groups import Stacks
from unmask.model.heads import HEAD_PLACE, pool_stacks

# name: which of the embeddings (0) and the layers (1..) are read, of how many layers; and how several become one
CHOICES: dict[str, tuple[Callable[[int], Sequence[int]], str]] = {
    "embeddings": (lambda _: [0], "one"),
    "second-to-last": (lambda layers: [layers - 1], "one"),
    "last": (lambda layers: [layers], "one"),
    "weighted-last-4": (lambda layers: range(max(1, layers - 3), layers + 1), "sum"),
    "concat-last-4": (lambda layers: range(max(1, layers - 3), layers + 1), "concat"),
    "weighted-all": (lambda layers: range(1, layers + 1), "sum"),
    "weighted-with-embeddings": (lambda layers: range(layers + 1), "sum"),  # as Peters et al. (2018) read ELMo
}
READERS = ("bilstm", "linear")
CHAINED = "tags_crf"  # the head whose tags are chained by a conditional random field
PER_TOKEN = ("tokens", CHAINED, "span")
OUTPUTS = {"span": 2, "regression": 1, "choice": 1}  # heads whose number of outputs is their own


class FeatureHead(nn.Module):
    """Reads chosen layers of the encoder, none of which it changes."""

    reads_layers = True

    def __init__(self, name: str, config: BertConfig, outputs: int, *, layers: str, reader: str) -> None:
        super().__init__()
        choose, how = CHOICES[layers]
        self.layers = tuple(choose(config.layers))
        self.per_token, self.rate = name in PER_TOKEN, config.dropout
        self.mix = WeightedSum(len(self.layers)) if how == "sum" else None
        width = config.width * (1 if how == "sum" else len(self.layers))
        self.lstm: Iterable[nn.LSTM] = nn.ModuleList()  # type: ignore[assignment]
        if reader == "bilstm":
            self.lstm = nn.ModuleList(_lstm(size, config.width) for size in (width, config.width))  # type: ignore[assignment]
            width = config.width
        self.classifier = nn.Linear(width, outputs)
        self.crf = Crf(outputs) if name == CHAINED else None

    def forward(self, encoded: Encoded, chance: Chance | None = None) -> Tensor:
        """A row of scores for each token, or for each sequence."""
        return self.read(self.chosen(encoded), encoded.stacks, chance)

    def chosen(self, encoded: Encoded) -> Tensor:
        """The layers that are read, of all that the encoder kept."""  # (T, L, D)
        return torch.stack([encoded.layers[number] for number in self.layers], dim=1)

    def read(self, features: Tensor, stacks: Stacks, chance: Chance | None = None) -> Tensor:
        """The same from the chosen layers."""  # (T, L, D) -> (T, outputs) or (B, outputs)
        x = features.flatten(1) if self.mix is None else self.mix(features)
        x = drop(x, self.rate, chance, HEAD_PLACE)
        for number, lstm in enumerate(self.lstm, start=1):
            x = drop(read_both_ways(lstm, x, stacks), self.rate, chance, HEAD_PLACE + number)
        scores: Tensor = self.classifier(x if self.per_token else pool_stacks(x, stacks, "mean"))
        return scores if self.crf is None else torch.cat([scores, self.crf.rows()])


class WeightedSum(nn.Module):
    """One layer of several: weights that sum to one, times a scale, all learned (Peters et al., 2018)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, features: Tensor) -> Tensor:
        """The weighted sum over layers."""  # (T, L, D) -> (T, D)
        return torch.einsum("tld,l->td", features, self.weights.softmax(0)) * self.scale


def make_feature_head(
    name: str, config: BertConfig, features: Mapping[str, Any], *, outputs: int = 2, seed: int = 0
) -> FeatureHead:
    """A head that stands in for the one of that name, with fresh weights.

    >>> config = BertConfig.named("tiny", vocabulary_size=9)
    >>> make_feature_head("tokens", config, {"layers": "concat-last-4", "reader": "linear"}).classifier.in_features
    256
    """
    check_features(features, name)
    head = FeatureHead(name, config, OUTPUTS.get(name, outputs), **features)
    initialise(head, config.initial_deviation, seed)
    generator = torch.Generator().manual_seed(seed)
    for part in head.lstm:
        for parameter in part.parameters():
            nn.init.uniform_(parameter, -math.sqrt(2 / config.width), math.sqrt(2 / config.width), generator=generator)
    return head


def check_features(features: Mapping[str, Any], head: str) -> None:
    """Refuses layers, readers and tasks that features are not made for."""
    if features.get("layers") not in CHOICES:
        raise InputError(f"features of {features.get('layers')!r}", wanted=", ".join(CHOICES), do="choose one of them")
    if features.get("reader") not in READERS:
        raise InputError(f"reader {features.get('reader')!r}", wanted=" or ".join(READERS), do="choose one of them")
    if head not in (*PER_TOKEN, "classes", "regression", "choice"):
        raise InputError(f"features for the head {head!r}", wanted="classes, values, tags, answers or choices")


def packing(stacks: Stacks) -> tuple[Tensor, Tensor]:
    """The tokens of a ragged batch as an LSTM reads them, first those that begin a sequence; how many at each place.

    >>> packing(((2, 1), (1, 2)))
    (tensor([2, 1, 0, 3]), tensor([3, 1]))
    """
    lengths = np.repeat([length for _, length in stacks], [count for count, _ in stacks])  # (B,) shortest first
    owners = np.repeat(np.arange(len(lengths)), lengths)  # (T,)
    positions = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return torch.from_numpy(np.lexsort((-owners, positions))), torch.from_numpy(np.bincount(positions))


def read_both_ways(lstm: nn.LSTM, x: Tensor, stacks: Stacks) -> Tensor:
    """What an LSTM says of each token, reading its sequence from either end; it sees no padding and no batch-mate."""
    order, sizes = packing(stacks)
    order = order.to(x.device)
    packed, _ = lstm(PackedSequence(x[order], sizes))
    return torch.empty_like(packed.data).index_copy(0, order, packed.data)  # (T, D)


def _lstm(inputs: int, width: int) -> nn.LSTM:
    return nn.LSTM(inputs, width // 2, bidirectional=True)
