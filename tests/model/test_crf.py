"""The conditional random field: against a sum over all paths written out, and against the likeliest path."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from unmask.decode.tags import best_path
from unmask.model.crf import path_loss

TAGS = 3


def random_case(lengths: list[int], seed: int) -> tuple[Tensor, Tensor, Tensor]:
    chance = torch.Generator().manual_seed(seed)
    count = sum(lengths)
    labels = torch.randint(TAGS, (count,), generator=chance)
    return (
        torch.randn(count, TAGS, generator=chance, dtype=torch.float64),
        labels,
        torch.randn(TAGS + 2, TAGS, generator=chance, dtype=torch.float64),
    )


def path_score(scores: Tensor, path: tuple[int, ...], rows: Tensor) -> Tensor:
    total = rows[TAGS, path[0]] + rows[TAGS + 1, path[-1]]
    for word, tag in enumerate(path):
        total = total + scores[word, tag]
    for before, tag in pairwise(path):
        total = total + rows[before, tag]
    return total


def obvious_loss(scores: Tensor, labels: Tensor, lengths: list[int], rows: Tensor) -> Tensor:
    """Every path of every sentence, one by one."""
    total, first = torch.zeros((), dtype=torch.float64), 0
    for length in lengths:
        own, right = scores[first : first + length], tuple(labels[first : first + length].tolist())
        first += length
        if length:
            every = [path_score(own, path, rows) for path in product(range(TAGS), repeat=length)]
            total = total + torch.stack(every).logsumexp(0) - path_score(own, right, rows)
    return total


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(0, 999))
def test_the_loss_is_that_over_all_paths(lengths: list[int], seed: int) -> None:
    scores, labels, rows = random_case(lengths, seed)
    expected = obvious_loss(scores, labels, lengths, rows)
    torch.testing.assert_close(path_loss(scores, labels, torch.tensor(lengths), rows), expected)


def test_gradients_are_those_over_all_paths() -> None:
    lengths = [2, 4, 0, 1, 4]
    scores, labels, rows = random_case(lengths, 5)
    leaves = scores.requires_grad_(), rows.requires_grad_()
    ours = torch.autograd.grad(path_loss(scores, labels, torch.tensor(lengths), rows), leaves)
    theirs = torch.autograd.grad(obvious_loss(scores, labels, lengths, rows), leaves)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("seed", range(5))
def test_no_path_has_a_smaller_loss_than_the_best_one(seed: int) -> None:
    scores, _, rows = random_case([4], seed)
    transitions, start, end = rows[:-2].numpy(), rows[-2].numpy(), rows[-1].numpy()
    best = torch.from_numpy(best_path(scores.numpy(), transitions, start, end).astype(np.int64))
    losses = [
        float(path_loss(scores, torch.tensor(p), torch.tensor([4]), rows)) for p in product(range(TAGS), repeat=4)
    ]
    assert float(path_loss(scores, best, torch.tensor([4]), rows)) == pytest.approx(min(losses))
