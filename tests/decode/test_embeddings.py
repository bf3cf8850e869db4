"""Vectors of texts: ranks beside a slow count, over several blocks, with partners that occur twice."""

import numpy as np
import pytest

from unmask.decode import embeddings


def test_ranks_are_those_of_a_slow_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BLOCK", 3)
    chance = np.random.default_rng(1)
    firsts, seconds = chance.normal(size=(2, 10, 4)).astype(np.float32)
    alike = [[embeddings.cosines(first[None], second[None])[0] for second in seconds] for first in firsts]
    slow = [sum(other > own[number] for other in own) for number, own in enumerate(alike)]
    assert embeddings.ranks(firsts, seconds).tolist() == slow


def test_a_partner_that_occurs_twice_is_not_nearer_than_itself() -> None:
    firsts = np.array([[1.0, 0.1], [1.0, 0.2]], dtype=np.float32)
    seconds = np.array([[1.0, 0.3], [1.0, 0.3000001]], dtype=np.float32)
    assert embeddings.ranks(firsts, seconds).tolist() == [0, 0]
