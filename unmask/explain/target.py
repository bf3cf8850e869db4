"""What is explained: one number that a model gives an example, read off its head; a function for every kind of task.

The head's outputs at some places of the example's rows come in, for many copies of it at once; one score for each copy
goes out, which gradients and erasure attribute to words, and one probability (or the score again, where there is none),
by which faithfulness is measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Score = Callable[[Tensor], Tensor]  # (C, P, outputs) -> (C,)


@dataclass(frozen=True)
class Target:
    """One number of a model's answer."""

    label: str  # for people
    places: tuple[tuple[int, int], ...]  # (row, token) that the head is read at; a head of sequences: (row, 0)
    score: Score
    probability: Score  # the score itself where there is none
    apart: bool = False  # words of each text are altered while the other text stays: two blank texts would be alike

    @property
    def has_probability(self) -> bool:
        """Whether the score stands for a probability."""
        return self.probability is not self.score


def class_target(label: str, number: int, rows: int, *, temperature: float = 1.0, several: bool = False) -> Target:
    """A class of a text; its logit is the mean over the windows of a long text.

    >>> target = class_target("good", 1, rows=2)
    >>> outputs = torch.tensor([[[0.0, 2.0], [0.0, 4.0]]])
    >>> target.score(outputs), target.probability(outputs)
    (tensor([3.]), tensor([0.9526]))
    """

    def score(outputs: Tensor) -> Tensor:
        return outputs.mean(1)[:, number]

    def probability(outputs: Tensor) -> Tensor:
        logits = outputs.mean(1)
        return torch.sigmoid(logits[:, number]) if several else torch.softmax(logits / temperature, -1)[:, number]

    return Target(label, _starts(rows), score, probability)


def value_target(label: str, rows: int) -> Target:
    """The value of a text or pair."""
    score = class_target(label, 0, rows).score
    return Target(label, _starts(rows), score, score)


def tag_target(label: str, places: Sequence[tuple[int, int]], tags: Sequence[int]) -> Target:
    """The tags of an entity's words, read at the first piece of each: their mean logit.

    >>> tag_target("LOC: New York", [(0, 3), (0, 4)], [1, 2]).score(torch.eye(3)[None, 1:])
    tensor([1.])
    """
    chosen = torch.tensor(tags)

    def own(outputs: Tensor) -> Tensor:
        return outputs.gather(-1, chosen.to(outputs.device)[None, :, None].expand(len(outputs), -1, 1)).mean((1, 2))

    return Target(label, tuple(places), own, lambda outputs: own(torch.softmax(outputs, -1)))


def span_target(label: str, row: int, start: int, end: int) -> Target:
    """An answer: the score of its beginning and of its end, summed."""

    def score(outputs: Tensor) -> Tensor:
        return outputs[:, 0, 0] + outputs[:, 1, 1]

    return Target(label, ((row, start), (row, end)), score, score)


def choice_target(label: str, number: int, parts: Sequence[int]) -> Target:
    """One of several endings; `parts` says which ending each row belongs to."""

    def logits(outputs: Tensor) -> Tensor:
        return _means(outputs, parts)[..., 0]  # (C, endings)

    return Target(
        label,
        _starts(len(parts)),
        lambda outputs: logits(outputs)[:, number],
        lambda outputs: torch.softmax(logits(outputs), -1)[:, number],
    )


def similarity_target(label: str, parts: Sequence[int]) -> Target:
    """How alike two texts are: the cosine of their vectors.

    >>> similarity_target("similarity", [0, 1]).score(torch.tensor([[[2.0, 0.0], [3.0, 3.0]]]))
    tensor([0.7071])
    """

    def score(outputs: Tensor) -> Tensor:
        vectors = _means(outputs, parts)
        return F.cosine_similarity(vectors[:, 0], vectors[:, 1], dim=-1)

    return Target(label, _starts(len(parts)), score, score, apart=True)


def word_target(label: str, id: int, place: tuple[int, int]) -> Target:
    """A word that fills a mask: its log-probability, since what all words gain alike decides nothing."""
    return Target(
        label,
        (place,),
        lambda outputs: torch.log_softmax(outputs[:, 0], -1)[:, id],
        lambda outputs: torch.softmax(outputs[:, 0], -1)[:, id],
    )


def _starts(rows: int) -> tuple[tuple[int, int], ...]:
    return tuple((row, 0) for row in range(rows))


def _means(outputs: Tensor, parts: Sequence[int]) -> Tensor:
    """The mean over the windows of each part."""  # (C, R, outputs) -> (C, parts, outputs)
    owners = torch.tensor(parts, device=outputs.device)
    return torch.stack([outputs[:, owners == part].mean(1) for part in range(max(parts) + 1)], 1)
