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

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise InputError(f"width {self.width} with {self.heads} heads", wanted="a width that the heads divide")
        if self.activation not in ACTIVATIONS:
            raise InputError(f"activation {self.activation!r}", wanted=" or ".join(ACTIVATIONS))

    @property
    def head_width(self) -> int:
        """K: numbers per head."""
        return self.width // self.heads

    @property
    def parameters(self) -> int:
        """How many numbers an encoder of this shape holds, its pooler included and task heads excluded."""
        d, f = self.width, self.feed_forward
        embeddings = (self.vocabulary_size + self.positions + self.segments) * d + 2 * d
        layer = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 4 * d
        return embeddings + self.layers * layer + (d * d + d if self.pooler else 0)

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
            return cls(**known)
        except TypeError as error:
            raise InputError(f"a config with {error}", wanted="numbers in BERT's fields") from error

    def to_published(self) -> dict[str, Any]:
        """The fields of a published `config.json`."""
        return {theirs: getattr(self, ours) for ours, theirs in PUBLISHED.items()}


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
