"""How often pieces stand near each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import random_text

from unmask.data import neighbours
from unmask.data.neighbours import WINDOW, count_neighbours, some_tokens


@given(st.lists(st.integers(0, 6), max_size=40))
def test_counts_are_those_of_a_plain_loop(ids: list[int]) -> None:
    expected = np.zeros((7, 7))
    for place, one in enumerate(ids):
        for distance, other in enumerate(ids[place + 1 : place + 1 + WINDOW], 1):
            expected[one, other] += 1 / distance
            expected[other, one] += 1 / distance
    found = count_neighbours(np.array(ids, dtype=np.int64), 7)
    assert np.allclose(found.near.toarray(), expected, atol=1e-5)
    assert found.pieces.tolist() == [ids.count(piece) for piece in range(7)]


def test_blocks_lose_only_pairs_across_their_borders(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.arange(100)
    whole = count_neighbours(ids, 100).near.sum()
    monkeypatch.setattr(neighbours, "BLOCK", 50)
    lost = whole - count_neighbours(ids, 100).near.sum()
    assert np.isclose(lost, 2 * WINDOW)  # d pairs of weight 1/d, both ways


def test_only_the_given_documents_are_counted_and_about_as_many_tokens_as_asked() -> None:
    text = random_text(400)
    documents = np.arange(0, 400, 2)
    found = some_tokens(text, documents, most=10**9)
    borders = text.sentence_tokens[text.document_sentences]
    expected = [text.ids[borders[document] : borders[document + 1]] for document in documents]
    assert np.array_equal(found, np.concatenate(expected))
    few = some_tokens(text, documents, most=len(found) // 5)
    assert 0.5 < len(few) / (len(found) / 5) < 1.5
    assert len(some_tokens(text, documents[:0], most=5)) == 0
