"""What a pretrained model in torch says: logits at chosen places of a batch, and whether B follows A."""

from collections.abc import Sequence

import numpy as np
import torch

from unmask.data.ragged import Ragged
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, MaskedWords, NextSentence, Pretraining
from unmask.runtime.engine import Floats


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
    """A model's encoder and its masked-word head, alone or as one of the two of pretraining."""
    head = model.head if isinstance(model, BertWithHead) else None
    words = head.words if isinstance(head, Pretraining) else head
    if isinstance(model, BertWithHead) and isinstance(words, MaskedWords):
        return model.bert, words
    raise InputError(
        f"a model with {'no head' if head is None else f'the head {type(head).__name__}'}",
        wanted="one that was pretrained to fill masks and kept its masked-word head",
        do="name such a folder with -m",
    )


def with_next_sentence(model: Bert | BertWithHead) -> tuple[Bert, NextSentence]:
    """A model's encoder and its next-sentence head, alone or as one of the two of pretraining."""
    head = model.head if isinstance(model, BertWithHead) else None
    following = head.next if isinstance(head, Pretraining) else head
    if isinstance(model, BertWithHead) and isinstance(following, NextSentence):
        return model.bert, following
    raise InputError(
        f"a model with {'no head' if head is None else f'the head {type(head).__name__}'}",
        wanted="one that was pretrained on sentence pairs and kept its next-sentence head",
        do="name such a folder with -m",
    )
