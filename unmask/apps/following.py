"""Does one sentence follow another? Two texts in, the next-sentence head's opinion out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.apps.refusing import fault_of_words
from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder
from unmask.runtime.pretrained import ServedFollowing
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.apps.pretrained import PairFollowing
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead


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
    """Judges pairs of texts with a pretrained model, open in torch or exported.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import BertWithHead, make_head
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "rain", "snow"])
    >>> config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    >>> follows = Following(BertWithHead(Bert(config), make_head("pretraining", config)), tokenizer)
    >>> follows("rain", "snow").label in ("next", "not_next")
    True
    """

    def __init__(self, model: "Bert | BertWithHead | ServingFolder", tokenizer: Tokenizer) -> None:
        self.head = ServedFollowing.of(model) if isinstance(model, ServingFolder) else _in_torch(model)
        self.tokenizer = tokenizer

    def __call__(self, first: str, second: str) -> Follows:
        """The probability that the second text follows the first; a text without words is an error."""
        for fault in filter(None, map(fault_of_words, (first, second))):
            raise InputError(fault.error.removeprefix("got "))
        longest = self.head.positions
        whole = self.tokenizer.encode(first, second)
        read = whole if len(whole.ids) <= longest else self.tokenizer.encode(first, second, max_length=longest)
        yes, no = self.head(pack([read.ids], [read.segments]))[0].astype(np.float64)
        probability = float(1 / (1 + np.exp(no - yes)))
        return Follows("next" if probability >= 0.5 else "not_next", probability, cut=read is not whole)


def _in_torch(model: "Bert | BertWithHead") -> "PairFollowing":
    from unmask.apps.pretrained import PairFollowing

    return PairFollowing(model)
