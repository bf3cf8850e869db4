"""What a student can learn from a teacher: outputs, hidden states, and how tokens relate to one another.

What both say of the same ragged batch comes in; a loss goes out, summed over rows or tokens. Outputs: Hinton et al.
(2015), divided by a temperature. Hidden states: TinyBERT (Jiao et al., 2020). Relations: MiniLMv2 (Wang et al., 2021),
the only ones that fit any two widths and numbers of heads.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.data.word_rows import NO_LABEL
from unmask.model.groups import Stacks
from unmask.tasks.several_texts import learned_texts
from unmask.tasks.task import TaskBatch

MOST_RELATION_HEADS = 16
Lesson = Callable[[Tensor, Tensor, TaskBatch, float], Tensor]  # given, expected, batch, temperature -> summed loss


def divergence(given: Tensor, expected: Tensor, temperature: float = 1.0, dim: int = -1) -> Tensor:
    """How far the student's distribution is from the teacher's (Kullback-Leibler), summed over all others.

    The square of the temperature undoes that gradients shrink with it.

    >>> logits = torch.tensor([[1.0, 0.0]])
    >>> float(divergence(logits, logits)), float(divergence(logits, -logits)) > 0.4
    (0.0, True)
    """
    mine = F.log_softmax(given.float() / temperature, dim)
    theirs = F.log_softmax(expected.float() / temperature, dim)
    return F.kl_div(mine, theirs, reduction="sum", log_target=True) * temperature**2


def classes(given: Tensor, expected: Tensor, _: TaskBatch, temperature: float) -> Tensor:
    """One of several classes a row."""  # (B, K) each
    return divergence(given, expected, temperature)


def several_classes(given: Tensor, expected: Tensor, _: TaskBatch, temperature: float) -> Tensor:
    """Any number of classes a row: each is a distribution over yes and no."""  # (B, K) each
    both = [torch.stack([logits, torch.zeros_like(logits)], -1) for logits in (given, expected)]
    return divergence(both[0], both[1], temperature) / given.shape[-1]


def values(given: Tensor, expected: Tensor, _: TaskBatch, __: float) -> Tensor:
    """A value a row."""  # (B, 1) each
    return (given.float() - expected).square().sum()


def tags(given: Tensor, expected: Tensor, batch: TaskBatch, temperature: float) -> Tensor:
    """A tag for the first piece of each word; of a random field also its own rows, behind the tokens."""
    tokens = len(batch.ragged.ids)
    words = torch.from_numpy(np.flatnonzero(batch.targets != NO_LABEL)).to(given.device)
    chain = (given[tokens:].float() - expected[tokens:]).square().sum()  # nothing without a field
    return divergence(given[words], expected[words], temperature) + chain


def spans(given: Tensor, expected: Tensor, batch: TaskBatch, temperature: float) -> Tensor:
    """Where an answer begins and ends among the tokens of a row."""  # (T, 2) each
    total = given.new_zeros(())
    for mine, theirs in zip(stacked(given, batch.ragged.stacks), stacked(expected, batch.ragged.stacks), strict=True):
        total = total + divergence(mine, theirs, temperature, dim=1) / 2
    return total


def choices(given: Tensor, expected: Tensor, batch: TaskBatch, temperature: float) -> Tensor:
    """Which of the endings of an example, each a row."""  # (B, 1) each
    scores = []
    for outputs in (given, expected):
        texts = learned_texts(outputs.float(), batch)
        shape = int(texts.examples.max()) + 1, int(texts.parts.max()) + 1
        table = outputs.new_full(shape, -1e4, dtype=torch.float32)  # finite: two endings that are not there are alike
        table[texts.examples, texts.parts] = texts.outputs[:, 0]
        scores.append(table)
    return divergence(scores[0], scores[1], temperature)


def vectors(given: Tensor, expected: Tensor, _: TaskBatch, __: float) -> Tensor:
    """How alike the texts of a batch are to one another; and where widths agree, the direction of each vector.

    >>> texts = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    >>> turned = texts @ torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> round(float(vectors(turned, texts, None, 1.0)), 6)
    0.0
    """  # (B, D) and (B, D')
    mine, theirs = F.normalize(given.float(), dim=-1), F.normalize(expected.float(), dim=-1)
    alike = (mine @ mine.T - theirs @ theirs.T).square().sum() / len(mine)
    return alike + (mine - theirs).square().sum() if mine.shape == theirs.shape else alike


def states(given: Tensor, expected: Tensor) -> Tensor:
    """Hidden states of tokens, summed over tokens, the mean over their width."""  # (T, D) each
    return (given.float() - expected).square().mean(-1).sum()


def relations(given: Tensor, expected: Tensor, stacks: Stacks) -> Tensor:
    """How queries relate to queries, keys to keys, values to values, within each sequence; the mean of the three."""
    heads = relation_heads(given.shape[-1] // 3, expected.shape[-1] // 3)
    total = given.new_zeros(())
    for mine, theirs in zip(stacked(given, stacks), stacked(expected, stacks), strict=True):
        both = zip(mine.chunk(3, -1), theirs.chunk(3, -1), strict=True)
        for own, other in both:
            total = total + divergence(related(own, heads), related(other, heads)) / (3 * heads)
    return total


def related(states: Tensor, heads: int) -> Tensor:
    """Scaled products of a sequence's states with one another, in a number of relation heads."""  # -> (n, A, S, S)
    split = states.float().unflatten(-1, (heads, -1)).transpose(1, 2)  # (n, A, S, K)
    products: Tensor = split @ split.transpose(-2, -1) / math.sqrt(split.shape[-1])
    return products


def relation_heads(student: int, teacher: int) -> int:
    """A number of heads that divides both widths.

    >>> relation_heads(384, 768), relation_heads(128, 312)
    (16, 8)
    """
    both = math.gcd(student, teacher)
    return max(heads for heads in range(1, MOST_RELATION_HEADS + 1) if both % heads == 0)


def stacked(rows: Tensor, stacks: Stacks) -> list[Tensor]:
    """Rows of tokens as one (n, S, …) for each run of equal lengths."""
    parts = rows.split([count * length for count, length in stacks])
    return [part.unflatten(0, stack) for part, stack in zip(parts, stacks, strict=True)]


def masked_words(given: Tensor, expected: Tensor, _: TaskBatch, temperature: float) -> Tensor:
    """The word behind each mask."""  # (M, V) each
    return divergence(given, expected, temperature)


# by the head that both have
LESSONS: dict[str, Lesson] = {
    "classes": classes,
    "regression": values,
    "tokens": tags,
    "tags_crf": tags,
    "span": spans,
    "choice": choices,
    "embedding": vectors,
    "masked_words": masked_words,
}
