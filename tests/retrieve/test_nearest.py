"""The nearest vectors are those that a full sort of all cosines finds, whatever the blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.retrieve import nearest
from unmask.retrieve.nearest import Nearest


def unit(count: int, width: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(count=st.integers(1, 60), asked=st.integers(0, 12), top=st.integers(1, 70), seed=st.integers(0, 99))
def test_the_best_are_those_of_a_full_sort(count: int, asked: int, top: int, seed: int) -> None:
    vectors, queries = unit(count, seed=seed), unit(asked, seed=seed + 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "QUERIES", 5)
        patch.setattr(nearest, "VECTORS", 7)
        places, cosines = Nearest(vectors).best(queries, top)
    expected = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :top]
    assert places.shape == cosines.shape == (asked, min(count, top))
    assert places.tolist() == expected.tolist()
    np.testing.assert_allclose(cosines, np.take_along_axis(queries @ vectors.T, expected, 1), atol=1e-6)


@given(count=st.integers(0, 60), at_least=st.floats(-1, 1), seed=st.integers(0, 99))
def test_pairs_are_those_of_all_cosines(count: int, at_least: float, seed: int) -> None:
    vectors = unit(count, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "QUERIES", 5)
        patch.setattr(nearest, "VECTORS", 7)
        found = [
            (int(first), int(second), float(cosine))
            for block in Nearest(vectors).pairs(at_least)
            for first, second, cosine in zip(*block, strict=True)
        ]
    cosines = vectors @ vectors.T
    sure = {
        (first, second)
        for first in range(count)
        for second in range(first + 1, count)
        if cosines[first, second] >= at_least + 1e-6
    }
    assert sure <= {(first, second) for first, second, _ in found}
    assert len({(first, second) for first, second, _ in found}) == len(found)
    assert all(first < second and cosine >= at_least for first, second, cosine in found)


def test_of_equal_vectors_the_earlier_comes_first() -> None:
    vectors = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (4, 1))
    assert Nearest(vectors).best(vectors[:1], 4)[0].tolist() == [[0, 1, 2, 3]]
