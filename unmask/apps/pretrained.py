"""What a pretrained model in torch says: logits at places of a batch, every layer's states, whether B follows A."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.data.ragged import Integers, Ragged
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, MaskedWords, NextSentence, masked_words_in, next_sentence_in
from unmask.runtime.engine import Floats

LOGITS = 1 << 21  # at a time: 8 MB stay near the cores


class Words:
    """The masked-word head of a model.

    >>> from unmask.data.ragged import pack
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import make_head
    >>> config = BertConfig.named("tiny", vocabulary_size=9)
    >>> Words(BertWithHead(Bert(config), make_head("pretraining", config)))(pack([[2, 4, 3]]), [1]).shape
    (1, 9)
    """

    def __init__(self, model: Bert | BertWithHead) -> None:
        self.bert, self.head = with_masked_words(model)
        self.positions = self.bert.config.positions

    def __call__(self, batch: Ragged, places: Sequence[int]) -> Floats:
        """Logits over the vocabulary; nothing but these places goes through the product with it."""  # (M, V)
        with torch.inference_mode():
            encoded = self.bert(batch, rows=np.array(places, dtype=np.int64))
            logits = self.head(encoded, torch.tensor(places, device=self.head.bias.device))
        found: Floats = logits.float().cpu().numpy()
        return found

    def log_probabilities(self, batch: Ragged, places: Integers, targets: Integers) -> Floats:
        """The log-probability of each target at its place."""  # (M,), (M,) -> (M,)
        device = self.head.bias.device
        with torch.inference_mode():
            encoded = self.bert(batch, rows=places)
            states = self.head.states(encoded.at(torch.from_numpy(places).to(device)))  # (M, D)
            asked = torch.from_numpy(targets).to(device)
            found: Floats = _at_targets(states, encoded.words, self.head.bias, asked).cpu().numpy()
        return found


class States:
    """The hidden states of an encoder."""

    def __init__(self, model: Bert | BertWithHead) -> None:
        self.bert = model.bert if isinstance(model, BertWithHead) else model
        self.config = self.bert.config

    def __call__(self, batch: Ragged, layers: Sequence[int]) -> Floats:
        """Chosen layers of every token side by side; 0 is the embeddings, -1 the last."""  # (T, layers · D)
        with torch.inference_mode():
            encoded = self.bert(batch, keep_layers=True)
            found: Floats = torch.cat([encoded.layers[layer] for layer in layers], -1).float().cpu().numpy()
        return found


class PairFollowing:
    """The next-sentence head of a model."""

    def __init__(self, model: Bert | BertWithHead) -> None:
        self.bert, self.head = with_next_sentence(model)
        self.positions = self.bert.config.positions

    def __call__(self, batch: Ragged) -> Floats:
        """Two logits for each pair: it follows, it does not."""  # (B, 2)
        with torch.inference_mode():
            logits = self.head(self.bert(batch, rows=batch.starts))
        found: Floats = logits.float().cpu().numpy()
        return found


def with_masked_words(model: Bert | BertWithHead) -> tuple[Bert, MaskedWords]:
    """A model's encoder and its masked-word head."""
    words = masked_words_in(model.head) if isinstance(model, BertWithHead) else None
    if isinstance(model, BertWithHead) and words is not None:
        return model.bert, words
    raise _without(model, "one that was pretrained to fill masks and kept its masked-word head")


def with_next_sentence(model: Bert | BertWithHead) -> tuple[Bert, NextSentence]:
    """A model's encoder and its next-sentence head."""
    following = next_sentence_in(model.head) if isinstance(model, BertWithHead) else None
    if isinstance(model, BertWithHead) and following is not None:
        return model.bert, following
    raise _without(model, "one that was pretrained on sentence pairs and kept its next-sentence head")


def _without(model: Bert | BertWithHead, wanted: str) -> InputError:
    head = f"the head {type(model.head).__name__}" if isinstance(model, BertWithHead) else "no head"
    return InputError(f"a model with {head}", wanted=wanted, do="name such a folder with -m")


def _at_targets(states: Tensor, words: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """The log-probability of each target over the vocabulary, a few rows at a time."""  # (M, D) -> (M,)
    step = max(1, LOGITS // len(words))
    found = []
    for start in range(0, len(targets), step):
        rows = slice(start, start + step)
        logits = F.linear(states[rows], words, bias).float()  # (m, V)
        found.append(logits.gather(1, targets[rows, None])[:, 0] - logits.logsumexp(1))
    return torch.cat(found)
