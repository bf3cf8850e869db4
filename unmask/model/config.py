"""What a BERT is made of: one frozen dataclass, the paper's named sizes, and the published `config.json` both ways."""

from dataclasses import dataclass, replace
from typing import Any

from unmask.errors import InputError


@dataclass(frozen=True)
class BertConfig:
    """The shape of an encoder. Only the model reads it; everything else takes plain arguments.

    >>> BertConfig.named("base").parameters
    109482240
    """

    vocabulary_size: int = 30_522  # pieces in the vocabulary
    width: int = 768  # D: numbers per token
    layers: int = 12  # encoder layers
    heads: int = 12  # H: attention heads a layer
    feed_forward: int = 3072  # width inside a layer's feed-forward part
    positions: int = 512  # longest sequence that has learned positions
    segments: int = 2  # sentence A and sentence B
    dropout: float = 0.1  # on embeddings and on each part's output, while training
    attention_dropout: float = 0.1  # on attention probabilities, while training
    activation: str = "gelu"  # gelu (exact), gelu_new (tanh) or relu
    norm_epsilon: float = 1e-12  # inside layer norm's square root
    initial_deviation: float = 0.02  # standard deviation of fresh weights
    pooler: bool = True  # the tanh layer over [CLS]
    causal: bool = False  # left to right: no token sees what follows, and the pooler reads a sequence's last token
    pruned_heads: tuple[tuple[int, ...], ...] = ()  # of each layer the heads that were taken out; nothing: none at all

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise InputError(f"width {self.width} with {self.heads} heads", wanted="a width that the heads divide")
        if self.activation not in ACTIVATIONS:
            raise InputError(f"activation {self.activation!r}", wanted=" or ".join(ACTIVATIONS))
        self._check_pruned_heads()

    def _check_pruned_heads(self) -> None:
        if len(self.pruned_heads) not in (0, self.layers):
            raise InputError(f"pruned heads of {len(self.pruned_heads)} layers", wanted=f"of all {self.layers} layers")
        for number, pruned in enumerate(self.pruned_heads):
            if len(set(pruned)) != len(pruned) or not all(0 <= head < self.heads for head in pruned):
                raise InputError(f"pruned heads {list(pruned)} in layer {number}", wanted=f"some of 0…{self.heads - 1}")
            if len(pruned) == self.heads:
                raise InputError(f"layer {number} without heads", wanted="at least one", do="prune the layer itself")

    @property
    def head_width(self) -> int:
        """K: numbers per head."""
        return self.width // self.heads

    def heads_of(self, layer: int) -> int:
        """H: the heads that a layer still has.

        >>> BertConfig.named("tiny", pruned_heads=((), (1,))).heads_of(1)
        1
        """
        return self.heads - (len(self.pruned_heads[layer]) if self.pruned_heads else 0)

    @property
    def parameters(self) -> int:
        """How many numbers an encoder of this shape holds, its pooler included and task heads excluded."""
        d, f = self.width, self.feed_forward
        embeddings = (self.vocabulary_size + self.positions + self.segments) * d + 2 * d
        attended = [self.heads_of(layer) * self.head_width for layer in range(self.layers)]
        attention = sum(3 * (d * a + a) + (a * d + d) for a in attended)
        feed_forward = self.layers * ((d * f + f) + (f * d + d) + 4 * d)
        return embeddings + attention + feed_forward + (d * d + d if self.pooler else 0)

    @classmethod
    def named(cls, size: str, **changes: Any) -> "BertConfig":
        """One of the published sizes, with changes.

        >>> BertConfig.named("tiny", vocabulary_size=1000).width
        128
        """
        if size not in SIZES:
            raise InputError(f"size {size!r}", wanted=", ".join(SIZES), do="choose one of them")
        layers, width, heads = SIZES[size]
        shape = cls(width=width, layers=layers, heads=heads, feed_forward=4 * width)
        return replace(shape, **changes)

    @classmethod
    def from_published(cls, published: dict[str, Any]) -> "BertConfig":
        """Reads a published `config.json` (or Google's `bert_config.json`); absent fields have BERT's defaults.

        >>> BertConfig.from_published({"hidden_size": 128, "num_attention_heads": 2}).heads
        2
        """
        known = {ours: published[theirs] for ours, theirs in PUBLISHED.items() if published.get(theirs) is not None}
        try:
            shape = cls(**known)
            pruned = _pruned(published.get("pruned_heads") or {}, shape.layers)
            return replace(shape, pruned_heads=pruned, causal=bool(published.get("is_decoder")))
        except TypeError as error:
            raise InputError(f"a config with {error}", wanted="numbers in BERT's fields") from error

    def to_published(self) -> dict[str, Any]:
        """The fields of a published `config.json`; heads that were taken out as transformers before 5 has them.

        >>> BertConfig.named("tiny", pruned_heads=((), (1,))).to_published()["pruned_heads"]
        {'1': [1]}
        """
        fields = {theirs: getattr(self, ours) for ours, theirs in PUBLISHED.items()}
        fields |= {"is_decoder": True} if self.causal else {}
        pruned = {str(layer): list(heads) for layer, heads in enumerate(self.pruned_heads) if heads}
        return fields | ({"pruned_heads": pruned} if pruned else {})


def _pruned(published: dict[str, list[int]], layers: int) -> tuple[tuple[int, ...], ...]:
    """The heads taken out of each layer, from a published field that only names layers that lost some.

    >>> _pruned({"1": [3, 0]}, 2)
    ((), (0, 3))
    """
    try:
        lost = {int(layer): tuple(sorted(heads)) for layer, heads in published.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"pruned_heads {published!r}", wanted='heads by layer, such as {"0": [1, 3]}') from error
    if not any(lost.values()):
        return ()
    if not all(0 <= layer < layers for layer in lost):
        raise InputError(f"pruned_heads of the layers {sorted(lost)}", wanted=f"layers from 0 to {layers - 1}")
    return tuple(lost.get(layer, ()) for layer in range(layers))


# name: layers, width, heads
SIZES = {
    "tiny": (2, 128, 2),
    "mini": (4, 256, 4),
    "small": (4, 512, 8),
    "medium": (8, 512, 8),
    "base": (12, 768, 12),
    "large": (24, 1024, 16),
}

ACTIVATIONS = ("gelu", "gelu_new", "relu")

PUBLISHED = {
    "vocabulary_size": "vocab_size",
    "width": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "feed_forward": "intermediate_size",
    "positions": "max_position_embeddings",
    "segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "activation": "hidden_act",
    "norm_epsilon": "layer_norm_eps",
    "initial_deviation": "initializer_range",
}
