"""What pretraining asks of the model. Each objective owns its loss: masked words, next sentence, sentence order,
context matching, and left-to-right language modelling (for the comparison with GPT).

In: the encoder's view of a batch and the batch's labels. Out: losses summed over their labels, and how many were right.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmask.data import pairs
from unmask.data.ragged import Integers, Ragged
from unmask.errors import InputError
from unmask.model.bert import Bert, Encoded, initialise
from unmask.model.config import BertConfig
from unmask.model.dropout import Chance
from unmask.model.heads import BertWithHead, ContextMatching, MaskedWords, Pretraining, make_head, masked_words_in
from unmask.model.masked_loss import masked_word_loss

# objectives that read sentence pairs, and how the pairs are drawn
PAIRED: dict[str, pairs.Objective] = {"nsp": "next", "sop": "order"}
OBJECTIVES = ("mlm+nsp", "mlm", "mlm+sop", "mlm+context", "clm")


@dataclass(frozen=True)
class PretrainingBatch:
    """Sequences and the labels that are asked of them, in the order of the ragged batch."""

    ragged: Ragged
    positions: Integers  # (M,) tokens whose word is asked for
    targets: Integers  # (M,) the words that stood (or, left to right, come next) there
    labels: Integers  # (B,) of the sentence pairs: 0 as in the text, 1 not


def counts(batch: PretrainingBatch, objective: str) -> dict[str, float]:
    """How many labels each loss of an objective has in a batch."""
    asked = {"mlm": len(batch.targets), "clm": len(batch.targets), "context": len(batch.targets)}
    return {name: float(asked.get(name, len(batch.labels))) for name in objective.split("+")}


def make_model(config: BertConfig, objective: str, seed: int) -> BertWithHead:
    """An encoder with the heads that an objective trains, and nothing that it would leave untrained."""
    check_objective(objective)
    head = make_head(
        "pretraining" if set(objective.split("+")) & set(PAIRED) else "masked_words", config, seed=seed + 1
    )
    return BertWithHead(Bert(config, seed), head)


def check_objective(objective: str) -> None:
    """Refuses an objective that does not exist."""
    if objective not in OBJECTIVES:
        raise InputError(f"objective {objective!r}", wanted=", ".join(OBJECTIVES), do="choose one with --objective")


def needs_pooler(objective: str) -> bool:
    """Whether an objective reads the pooled [CLS].

    >>> needs_pooler("mlm+nsp"), needs_pooler("mlm")
    (True, False)
    """
    return bool(set(objective.split("+")) - {"mlm", "clm"})


def is_causal(objective: str) -> bool:
    """Whether a model of this objective reads left to right.

    >>> is_causal("clm"), is_causal("mlm")
    (True, False)
    """
    return "clm" in objective.split("+")


class Learner(nn.Module):
    """The model with its objectives: a batch in, losses and figures out. This is what the loop trains."""

    def __init__(self, model: BertWithHead, objective: str, context_weight: float = 0.1, seed: int = 0) -> None:
        super().__init__()
        self.model, self.objectives, self.context_weight = model, objective.split("+"), context_weight
        self.matching = ContextMatching(model.bert.config) if "context" in self.objectives else None
        if self.matching is not None:
            # a seed of its own, after the encoder's and the head's
            initialise(self.matching, model.bert.config.initial_deviation, seed + 2)

    def forward(self, batch: PretrainingBatch, chance: Chance | None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Each objective's loss, summed over its labels, and how many labels were the first choice."""
        losses, figures = {}, {}
        causal = "clm" in self.objectives
        rows = None if causal else batch.positions
        encoded = self.model.bert(batch.ragged, rows=rows, chance=chance, causal=causal)
        for name in self.objectives:
            losses[name], figures[f"{name}_accuracy"] = LOSSES[name](self, encoded, batch)
        return losses, figures


def word_loss(learner: Learner, encoded: Encoded, batch: PretrainingBatch) -> tuple[Tensor, Tensor]:
    """The word that stands at each asked position, over the whole vocabulary."""
    positions, targets = _on(encoded, batch.positions), _on(encoded, batch.targets)
    head = words_head(learner.model.head)
    # asked positions only: the other 85 % would take most of the time and teach nothing
    return masked_word_loss(head.states(encoded.at(positions)), encoded.words, head.bias, targets)


def pair_loss(learner: Learner, encoded: Encoded, batch: PretrainingBatch) -> tuple[Tensor, Tensor]:
    """Is the pair as it stood in the text (0) or not (1)?"""
    assert isinstance(learner.model.head, Pretraining)
    logits, labels = learner.model.head.next(encoded), _on(encoded, batch.labels)  # (B, 2), (B,)
    return F.cross_entropy(logits.float(), labels, reduction="sum"), (logits.argmax(-1) == labels).sum()


def context_loss(learner: Learner, encoded: Encoded, batch: PretrainingBatch) -> tuple[Tensor, Tensor]:
    """Each masked word against every context of the batch, a sigmoid for each pair; its own contexts are right.

    A word that is masked in several contexts of the batch belongs to all of them.
    """
    assert learner.matching is not None
    targets = _on(encoded, batch.targets)
    logits = learner.matching(encoded, targets).float()  # (M, B)
    own = torch.bucketize(_on(encoded, batch.positions), encoded.starts, right=True) - 1  # (M,) each word's sequence
    same_word = targets[:, None] == targets[None, :]  # (M, M)
    right = torch.zeros_like(logits).index_add_(1, own, same_word.to(logits.dtype)).clamp_(max=1)  # (M, B)
    loss = F.binary_cross_entropy_with_logits(logits, right, reduction="sum")
    return learner.context_weight * loss, right.gather(1, logits.argmax(-1, keepdim=True)).sum()


LOSSES: dict[str, Callable[[Learner, Encoded, PretrainingBatch], tuple[Tensor, Tensor]]] = {
    "mlm": word_loss,
    "clm": word_loss,
    "nsp": pair_loss,
    "sop": pair_loss,
    "context": context_loss,
}


def words_head(head: nn.Module) -> MaskedWords:
    """The masked-word head, alone or inside the pretraining heads."""
    found = masked_words_in(head)
    assert found is not None
    return found


def _on(encoded: Encoded, numbers: Integers) -> Tensor:
    return torch.from_numpy(numbers).to(encoded.starts.device, non_blocking=True)
