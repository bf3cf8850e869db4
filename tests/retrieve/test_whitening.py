"""Whitened vectors have no mean and the same spread in every direction, as far as the number of texts allows."""

from pathlib import Path

import numpy as np
import pytest

from unmask.errors import InputError
from unmask.retrieve.whitening import Whitening


def narrow_cone(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(count, 12)) * np.geomspace(4, 0.05, 12) + 7).astype(np.float32)


def test_many_vectors_lose_their_mean_and_get_one_spread() -> None:
    vectors = narrow_cone(20_000)
    whitening = Whitening.of(vectors)
    spread = (vectors - whitening.mean) @ whitening.matrix
    np.testing.assert_allclose(spread.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(np.cov(spread.T), np.eye(12), atol=0.2)


def test_whitened_vectors_have_length_one_and_the_width_asked_for() -> None:
    vectors = narrow_cone(50)
    found = Whitening.of(vectors, width=5)(vectors)
    assert found.shape == (50, 5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_the_widest_directions_come_first() -> None:
    vectors = narrow_cone(5_000)
    whole, part = Whitening.of(vectors), Whitening.of(vectors, width=3)
    np.testing.assert_allclose(part.matrix, whole.matrix[:, :3])


def test_fewer_vectors_than_directions_are_no_trouble() -> None:
    whitening = Whitening.of(narrow_cone(4))
    assert np.isfinite(whitening(narrow_cone(30, seed=1))).all()


def test_cosines_of_a_cone_say_nothing_until_it_is_whitened() -> None:
    vectors = narrow_cone(2_000)
    raw = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (raw[::2] * raw[1::2]).sum(1).mean() > 0.9
    whitened = Whitening.of(vectors)(vectors)
    assert abs((whitened[::2] * whitened[1::2]).sum(1).mean()) < 0.05


def test_a_saved_whitening_is_the_same_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    whitening = Whitening.of(narrow_cone(100))
    whitening.save(tmp_path / "whitening.npz")
    again = Whitening.load(tmp_path / "whitening.npz")
    assert (again(narrow_cone(9)) == whitening(narrow_cone(9))).all()
    (tmp_path / "whitening.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match="damaged or missing"):
        Whitening.load(tmp_path / "whitening.npz")
