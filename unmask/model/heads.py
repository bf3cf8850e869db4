"""What is read off the encoder: masked words, next sentence, classes, values, tags, spans, choices, embeddings.

A head takes what the encoder said of a batch (`Encoded`) and gives logits, or vectors, in the batch's own order.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmask.data.ragged import Ragged
from unmask.model.bert import Bert, Encoded, initialise
from unmask.model.config import BertConfig
from unmask.model.crf import Crf
from unmask.model.dropout import Chance, drop
from unmask.model.groups import Stacks
from unmask.model.layers import ACTIVATIONS

HEAD_PLACE = 1 << 12  # where the heads' dropouts are counted from, beyond any layer's


class MaskedWords(nn.Module):
    """The masked-word head: a transform, then the word embeddings themselves as the decoder."""

    per_token = True

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.transform = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary_size))
        self.activation = config.activation

    def states(self, hidden: Tensor) -> Tensor:
        """The transformed states of the chosen tokens, one product away from logits."""  # (M, D) -> (M, D)
        return self.norm(ACTIVATIONS[self.activation](self.transform(hidden)))  # type: ignore[no-any-return]

    def forward(self, encoded: Encoded, positions: Tensor | None = None) -> Tensor:
        """Logits over the vocabulary, for the given positions or for all tokens."""  # (M, V)
        hidden = encoded.hidden if positions is None else encoded.at(positions)
        return F.linear(self.states(hidden), encoded.words, self.bias)


class NextSentence(nn.Module):
    """Does B follow A? Column 0 says yes, column 1 says no, as published."""

    reads_starts = True

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.classifier = nn.Linear(config.width, 2)

    def forward(self, encoded: Encoded) -> Tensor:
        """Two logits for each sequence."""  # (B, 2)
        return self.classifier(_pooled(encoded))  # type: ignore[no-any-return]


class Pretraining(nn.Module):
    """Both heads of pretraining."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.words = MaskedWords(config)
        self.next = NextSentence(config)

    def forward(self, encoded: Encoded, positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Masked-word logits and next-sentence logits."""  # (M, V), (B, 2)
        return self.words(encoded, positions), self.next(encoded)


def masked_words_in(head: nn.Module | None) -> MaskedWords | None:
    """The masked-word head, alone or as one of the two of pretraining; none if there is none.

    >>> masked_words_in(None) is None, isinstance(masked_words_in(Pretraining(BertConfig.named("tiny"))), MaskedWords)
    (True, True)
    """
    found = head.words if isinstance(head, Pretraining) else head
    return found if isinstance(found, MaskedWords) else None


def next_sentence_in(head: nn.Module | None) -> NextSentence | None:
    """The next-sentence head, alone or as one of the two of pretraining; none if there is none.

    >>> next_sentence_in(MaskedWords(BertConfig.named("tiny"))) is None
    True
    """
    found = head.next if isinstance(head, Pretraining) else head
    return found if isinstance(found, NextSentence) else None


class ContextMatching(nn.Module):
    """Which context does a masked word come from? Its embedding is held against the pooled vector of every sequence."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.projection = nn.Linear(config.width, config.width)
        self.scale = nn.Parameter(torch.tensor([math.log(10.0)]))
        self.bias = nn.Parameter(torch.tensor([-math.log(30.0)]))  # at first nearly every pair is a wrong one

    def forward(self, encoded: Encoded, words: Tensor) -> Tensor:
        """A logit for each pair of a word and a sequence."""  # (M,) -> (M, B)
        word = F.normalize(self.projection(encoded.words[words]), dim=-1)  # (M, D)
        context = F.normalize(_pooled(encoded), dim=-1)  # (B, D)
        return word @ context.T * self.scale.exp() + self.bias


class Classes(nn.Module):
    """One score for each class from the pooled [CLS]; with one output it is regression, or the score of a choice."""

    reads_starts = True

    def __init__(self, config: BertConfig, outputs: int) -> None:
        super().__init__()
        self.rate = config.dropout
        self.classifier = nn.Linear(config.width, outputs)

    def forward(self, encoded: Encoded, chance: Chance | None = None) -> Tensor:
        """A row of scores for each sequence."""  # (B, outputs)
        return self.classifier(drop(_pooled(encoded), self.rate, chance, HEAD_PLACE))  # type: ignore[no-any-return]


class Tokens(nn.Module):
    """One score for each tag and token."""

    per_token = True

    def __init__(self, config: BertConfig, outputs: int) -> None:
        super().__init__()
        self.rate = config.dropout
        self.classifier = nn.Linear(config.width, outputs)

    def forward(self, encoded: Encoded, chance: Chance | None = None) -> Tensor:
        """A row of scores for each token."""  # (T, outputs)
        return self.classifier(drop(encoded.hidden, self.rate, chance, HEAD_PLACE))  # type: ignore[no-any-return]


class ChainedTokens(nn.Module):
    """One score for each tag and token, and how well tags follow one another: a conditional random field."""

    per_token = True

    def __init__(self, config: BertConfig, outputs: int) -> None:
        super().__init__()
        self.rate = config.dropout
        self.classifier = nn.Linear(config.width, outputs)
        self.crf = Crf(outputs)

    def forward(self, encoded: Encoded, chance: Chance | None = None) -> Tensor:
        """A row of scores for each token; after the last token the field's own rows, which belong to all sequences."""
        scores = self.classifier(drop(encoded.hidden, self.rate, chance, HEAD_PLACE))  # (T, K)
        return torch.cat([scores, self.crf.rows()])  # (T + K + 2, K)


class Span(nn.Module):
    """How well an answer could begin (column 0) or end (column 1) at each token; no dropout, as published."""

    per_token = True

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.classifier = nn.Linear(config.width, 2)

    def forward(self, encoded: Encoded) -> Tensor:
        """Two scores for each token."""  # (T, 2)
        return self.classifier(encoded.hidden)  # type: ignore[no-any-return]


class Embedding(nn.Module):
    """One vector for each sequence: the mean or maximum of its tokens, or its [CLS]."""

    def __init__(self, pooling: str = "mean") -> None:
        super().__init__()
        self.pooling = pooling
        self.reads_starts = pooling == "cls"

    def forward(self, encoded: Encoded) -> Tensor:
        """A vector for each sequence, not normalised."""  # (B, D)
        return encoded.at(encoded.starts) if self.reads_starts else pool(encoded.hidden, encoded, self.pooling)


class BertWithHead(nn.Module):
    """An encoder and what is read off it."""

    def __init__(self, bert: Bert, head: nn.Module) -> None:
        super().__init__()
        self.bert, self.head = bert, head

    def forward(self, batch: Ragged, **options: Any) -> Any:
        """The head's answer for a batch."""
        rows = batch.starts if self.reads_starts else None
        return self.head(self.bert(batch, rows=rows, keep_layers=self.reads_layers), **options)

    def learn(self, batch: Ragged, chance: Chance | None, *, whole: bool = False) -> Any:
        """The same while a task is learned: the encoder, and heads that have a rate for it, drop out by `chance`.

        The last layer computes what the head reads, or the `whole` for those who listen to layers on the way.
        """
        rows = batch.starts if self.reads_starts and not whole else None
        encoded = self.bert(batch, rows=rows, chance=chance, keep_layers=self.reads_layers)
        return self.head(encoded, chance=chance) if hasattr(self.head, "rate") else self.head(encoded)

    @property
    def per_token(self) -> bool:
        """Whether the head speaks of tokens, not of whole sequences."""
        return bool(getattr(self.head, "per_token", False))

    @property
    def reads_starts(self) -> bool:
        """Whether the head reads nothing of the last layer but each [CLS]."""
        return bool(getattr(self.head, "reads_starts", False))

    @property
    def reads_layers(self) -> bool:
        """Whether the head reads other layers than the last."""
        return bool(getattr(self.head, "reads_layers", False))


def make_head(name: str, config: BertConfig, *, outputs: int = 2, pooling: str = "mean", seed: int = 0) -> nn.Module:
    """A head by its name, with fresh weights."""
    head = HEADS[name](config, outputs, pooling)
    initialise(head, config.initial_deviation, seed)
    return head


HEADS: dict[str, Callable[[BertConfig, int, str], nn.Module]] = {
    "pretraining": lambda config, *_: Pretraining(config),
    "masked_words": lambda config, *_: MaskedWords(config),
    "next_sentence": lambda config, *_: NextSentence(config),
    "classes": lambda config, outputs, _: Classes(config, outputs),
    "regression": lambda config, *_: Classes(config, 1),
    "tokens": lambda config, outputs, _: Tokens(config, outputs),
    "tags_crf": lambda config, outputs, _: ChainedTokens(config, outputs),
    "span": lambda config, *_: Span(config),
    "choice": lambda config, *_: Classes(config, 1),
    "embedding": lambda _, __, pooling: Embedding(pooling),
}


def pool(rows: Tensor, encoded: Encoded, pooling: str) -> Tensor:
    """One vector for each sequence from one for each token, by mean, maximum or [CLS]."""  # (T, D) -> (B, D)
    return rows[encoded.starts] if pooling == "cls" else pool_stacks(rows, encoded.stacks, pooling)


def pool_stacks(rows: Tensor, stacks: Stacks, pooling: str) -> Tensor:
    """The same by mean or maximum, where only the lengths are known."""  # (T, D) -> (B, D)
    parts = rows.split([count * length for count, length in stacks])
    shaped = [part.view(count, length, -1) for part, (count, length) in zip(parts, stacks, strict=True)]
    return torch.cat([POOLINGS[pooling](part) for part in shaped])


POOLINGS: dict[str, Callable[[Tensor], Tensor]] = {"mean": lambda part: part.mean(1), "max": lambda part: part.amax(1)}


def _pooled(encoded: Encoded) -> Tensor:
    assert encoded.pooled is not None, "this head reads the pooler, and the encoder has none"
    return encoded.pooled
