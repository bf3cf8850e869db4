"""Does one sentence follow another? Two texts in, the next-sentence head's opinion out."""

from dataclasses import dataclass
from typing import Any

import torch

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, NextSentence, Pretraining
from unmask.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Follows:
    """Whether B follows A."""

    label: str  # next or not_next
    probability: float  # that B follows A, whatever the label
    cut: bool = False  # the two were too long together, and the longer lost its end

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {"label": self.label, "probability": self.probability}


class Following:
    """Judges pairs of texts with a pretrained model.

    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import make_head
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "rain", "snow"])
    >>> config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    >>> follows = Following(BertWithHead(Bert(config), make_head("pretraining", config)), tokenizer)
    >>> follows("rain", "snow").label in ("next", "not_next")
    True
    """

    def __init__(self, model: Bert | BertWithHead, tokenizer: Tokenizer) -> None:
        self.bert, self.head = with_next_sentence(model)
        self.tokenizer = tokenizer

    def __call__(self, first: str, second: str) -> Follows:
        """The probability that the second text follows the first."""
        longest = self.bert.config.positions
        whole = self.tokenizer.encode(first, second)
        read = whole if len(whole.ids) <= longest else self.tokenizer.encode(first, second, max_length=longest)
        with torch.inference_mode():
            batch = pack([read.ids], [read.segments])
            logits = self.head(self.bert(batch, rows=batch.starts))  # (1, 2)
        probability = float(logits.float().softmax(-1)[0, 0])
        return Follows("next" if probability >= 0.5 else "not_next", probability, cut=read is not whole)


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
