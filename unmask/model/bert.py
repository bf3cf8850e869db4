"""The bidirectional encoder of Devlin et al. (2018): a ragged batch in, one vector for each token out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from unmask.data.ragged import Integers, Ragged
from unmask.errors import InputError
from unmask.model.chosen import choose
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.model.groups import Stacks, group
from unmask.model.layers import Embeddings, Layer


@dataclass(frozen=True)
class Encoded:
    """What the encoder says of a batch, in the batch's own order (shortest sequence first)."""

    rows: Tensor  # (R, D) the last layer: of all tokens, or of those at `places`
    pooled: Tensor | None  # (B, D) the pooler over each [CLS]; left to right, over each last token
    starts: Tensor  # (B,) where each [CLS] is
    stacks: Stacks  # runs of equal length
    words: Tensor  # (V, D) the word embeddings, which the masked-word head shares
    layers: tuple[Tensor, ...] = ()  # (T, D) each: embeddings, then every layer, on request
    attention: tuple[list[Tensor], ...] = ()  # every layer's maps, (n, H, S, S) for each stack, on request
    places: Tensor | None = None  # (R,) in order, where not all tokens were asked for

    @property
    def hidden(self) -> Tensor:
        """The last layer, where all of it was asked for."""  # (T, D)
        assert self.places is None, "only some tokens were asked for: read them with `at`"
        return self.rows

    def at(self, places: Tensor) -> Tensor:
        """The last layer at some tokens, all of which were asked for."""  # (M,) -> (M, D)
        if self.places is None:
            return self.rows[places]
        found = torch.searchsorted(self.places, places)
        assert torch.equal(self.places[found], places), "a token that was not asked for"
        return self.rows[found]


class Bert(nn.Module):
    """The encoder.

    >>> from unmask.data.ragged import pack
    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=100))
    >>> bert(pack([[2, 7, 3], [2, 8, 9, 3]])).hidden.shape
    torch.Size([7, 128])
    """

    def __init__(self, config: BertConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.layers: Sequence[Layer] = nn.ModuleList(Layer(config, n) for n in range(config.layers))  # type: ignore[assignment]
        self.pooler = nn.Linear(config.width, config.width) if config.pooler else None
        self.recompute = False  # keep only each layer's input and compute the layer again in the backward pass
        initialise(self, config.initial_deviation, seed)

    def forward(
        self,
        batch: Ragged,
        *,
        rows: Integers | None = None,
        chance: Chance | None = None,
        causal: bool = False,
        keep_layers: bool = False,
        keep_attention: bool = False,
    ) -> Encoded:
        """Encodes a batch; with `chance` it drops out as in training, and `causal` hides what comes after.

        A model whose config says so is always causal. Then all tokens are computed, whichever will be read.

        The last layer is computed at `rows`, the tokens that will be read, and each [CLS]; without, at all tokens.
        """
        assert rows is None or not (keep_layers or keep_attention), "what is kept is kept of all tokens"
        self._check(batch)
        causal = causal or self.config.causal
        device = self.embeddings.words.weight.device
        ids, segments, positions, starts = (
            torch.from_numpy(part).to(device, non_blocking=True)
            for part in (batch.ids, batch.segments, batch.positions, batch.starts)
        )
        x = self.embeddings(ids, segments, positions, chance)  # (T, D)
        # with dropout, or where products in half precision are learned from, attention is our own: many small calls
        own = chance is not None or (torch.is_grad_enabled() and torch.is_autocast_enabled(device.type))
        groups = group(batch.stacks, self.config.heads, device, own=own)
        chosen = choose(batch, rows, groups, device) if rows is not None and self.layers and not causal else None
        layers, attention = [x], []
        for layer in self.layers:
            read = chosen if layer is self.layers[-1] else None
            if keep_attention:
                attention.append(layer.maps(x, batch.stacks, causal))
            if self.recompute and torch.is_grad_enabled():
                given = x, groups, chance, causal, read
                x = checkpoint(layer, *given, use_reentrant=False, preserve_rng_state=False)
            else:
                x = layer(x, groups, chance, causal, read)
            layers.append(x)
        encoded = Encoded(
            rows=x,
            pooled=None,
            starts=starts,
            stacks=batch.stacks,
            words=self.embeddings.words.weight,
            layers=tuple(layers) if keep_layers else (),
            attention=tuple(attention),
            places=chosen.places if chosen is not None else None,
        )
        if self.pooler is None:
            return encoded
        pooled = starts
        if self.config.causal:  # [CLS] has seen nothing but itself: the last token has seen all, as GPT reads it
            pooled = starts + torch.from_numpy(batch.lengths).to(device, non_blocking=True) - 1
        return replace(encoded, pooled=torch.tanh(self.pooler(encoded.at(pooled))))  # (B, D)

    def _check(self, batch: Ragged) -> None:
        longest = int(batch.lengths.max(initial=0))
        if longest > self.config.positions:
            raise InputError(
                f"a sequence of {longest} pieces",
                wanted=f"at most {self.config.positions}, the positions of this model",
                do="cut the text or give it in parts",
            )


def initialise(module: nn.Module, deviation: float, seed: int) -> None:
    """Fresh weights: normal with the given deviation, biases zero, norms one; a function of the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=deviation, generator=generator)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
