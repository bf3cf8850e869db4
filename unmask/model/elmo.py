"""ELMo (Peters et al., 2018) over WordPiece: two LSTMs read each sequence forwards, two backwards, none both ways.

A ragged batch comes in; for each token its embedding and both layers go out, as an encoder gives them, so that a
feature head reads ELMo as it reads BERT. Each direction has half of the width and predicts the next piece on its side;
the embeddings, shared by both directions, are the decoder as well.
"""

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from unmask.data.ragged import Integers, Ragged
from unmask.errors import InputError
from unmask.files import atomic_path, write_text
from unmask.model.bert import Encoded
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance, drop
from unmask.model.feature_heads import packing
from unmask.model.groups import Stacks

LAYERS = 2  # of each direction
WEIGHTS, SHAPE = "elmo.safetensors", "elmo.json"


class Elmo(nn.Module):
    """Both language models; of the config it takes vocabulary, width, layers and dropout.

    >>> from unmask.data.ragged import pack
    >>> elmo = Elmo(elmo_config(vocabulary_size=100, width=32))
    >>> [layer.shape for layer in elmo(pack([[2, 7, 3], [2, 8, 9, 3]]), keep_layers=True).layers]
    [torch.Size([7, 32]), torch.Size([7, 32]), torch.Size([7, 32])]
    """

    def __init__(self, config: BertConfig, seed: int = 0) -> None:
        super().__init__()
        self.config, half = config, config.width // 2
        self.words = nn.Embedding(config.vocabulary_size, half)
        self.norm = nn.LayerNorm(half)  # before decoding, as in BERT's head: states of LSTMs are small
        self.bias = nn.Parameter(torch.zeros(config.vocabulary_size))
        self.ahead = nn.ModuleList(nn.LSTM(half, half) for _ in range(config.layers))
        self.back = nn.ModuleList(nn.LSTM(half, half) for _ in range(config.layers))
        generator = torch.Generator().manual_seed(seed)
        nn.init.normal_(self.words.weight, std=config.initial_deviation, generator=generator)
        for parameter in [*self.ahead.parameters(), *self.back.parameters()]:
            nn.init.uniform_(parameter, -1 / math.sqrt(half), 1 / math.sqrt(half), generator=generator)

    def forward(
        self,
        batch: Ragged,
        *,
        rows: Integers | None = None,
        chance: Chance | None = None,
        keep_layers: bool = False,
    ) -> Encoded:
        """What both directions say of each token, side by side; all tokens are computed, whichever `rows` are read."""
        del rows
        words, ahead, back = self.directions(batch, chance)
        layers = [torch.cat([words, words], 1)] + [torch.cat(both, 1) for both in zip(ahead, back, strict=True)]
        return Encoded(
            rows=layers[-1],
            pooled=None,
            starts=torch.from_numpy(batch.starts).to(words.device),
            stacks=batch.stacks,
            words=self.words.weight,
            layers=tuple(layers) if keep_layers else (),
        )

    def directions(self, batch: Ragged, chance: Chance | None = None) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """The embeddings, the forward layers and the backward layers."""  # (T, D/2) each
        words = self.words(torch.from_numpy(batch.ids).to(self.words.weight.device))
        ahead, back = [words], [words]
        turned = reversal(batch.stacks).to(words.device)
        for number, (forwards, backwards) in enumerate(zip(self.ahead, self.back, strict=True)):
            place, rate = 2 * number, self.config.dropout
            one, other = (drop(states[-1], rate, chance, place + side) for side, states in enumerate((ahead, back)))
            ahead.append(_read(forwards, one, batch.stacks, residual=number > 0))
            back.append(_read(backwards, other[turned], batch.stacks, residual=number > 0)[turned])
        return words, ahead[1:], back[1:]


def _read(lstm: nn.Module, x: Tensor, stacks: Stacks, *, residual: bool) -> Tensor:
    """What an LSTM says of each token, reading each sequence from its first; upper layers add what they read."""
    order, sizes = packing(stacks)
    order = order.to(x.device)
    packed, _ = lstm(PackedSequence(x[order], sizes))
    said = torch.empty_like(packed.data).index_copy(0, order, packed.data)
    return said + x if residual else said  # (T, D/2)


def reversal(stacks: Stacks) -> Tensor:
    """Where each token goes when every sequence is turned round; done twice it changes nothing.

    >>> reversal(((2, 1), (1, 3)))
    tensor([0, 1, 4, 3, 2])
    """
    lengths = np.repeat([length for _, length in stacks], [count for count, _ in stacks])  # (B,)
    starts = np.cumsum(lengths) - lengths
    return torch.from_numpy(np.repeat(2 * starts + lengths - 1, lengths) - np.arange(lengths.sum()))


def elmo_config(*, vocabulary_size: int, width: int, dropout: float = 0.1) -> BertConfig:
    """The shape of an ELMo; what only a Transformer has is left at nothing.

    >>> elmo_config(vocabulary_size=100, width=128).layers
    2
    """
    if width % 2:
        raise InputError(f"an ELMo of width {width}", wanted="an even one: each direction has half of it")
    return BertConfig(
        vocabulary_size=vocabulary_size, width=width, layers=LAYERS, heads=1, feed_forward=0, dropout=dropout
    )


def save_elmo(folder: Path, elmo: Elmo) -> None:
    """Writes weights and shape."""
    with atomic_path(folder / WEIGHTS) as temporary:
        save_file({name: value.contiguous() for name, value in elmo.state_dict().items()}, temporary)
    write_text(folder / SHAPE, json.dumps(asdict(elmo.config), indent=2) + "\n")


def open_elmo(folder: Path) -> Elmo:
    """The model that `save_elmo` wrote."""
    shape = json.loads((folder / SHAPE).read_text(encoding="utf-8"))
    elmo = Elmo(BertConfig(**shape | {"pruned_heads": ()}))
    elmo.load_state_dict(load_file(folder / WEIGHTS))
    return elmo.eval()
