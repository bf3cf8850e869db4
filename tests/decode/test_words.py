"""The likeliest pieces: against a full sort and torch."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unmask.decode.words import log_softmax, top_pieces

LOGITS = arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 20)), elements=st.integers(-9, 9).map(float))


@given(LOGITS, st.integers(1, 25))
def test_top_pieces_are_the_first_of_a_full_sort(logits: np.ndarray, top: int) -> None:
    ids, probabilities = top_pieces(logits, top)
    everything = torch.from_numpy(logits).double().softmax(-1).numpy()
    assert ids.shape == (len(logits), min(top, logits.shape[1]))
    np.testing.assert_allclose(probabilities, -np.sort(-everything, axis=-1)[:, :top], rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(everything, ids, -1), probabilities, rtol=1e-9)


def test_equal_pieces_stand_in_the_order_of_their_ids() -> None:
    ids, _ = top_pieces(np.array([[1.0, 3.0, 1.0, 3.0]]), 4)
    assert ids.tolist() == [[1, 3, 0, 2]]


def test_log_softmax_stands_large_numbers() -> None:
    logits = np.array([[1e4, 0.0, -1e4]], np.float32)
    np.testing.assert_allclose(log_softmax(logits), torch.from_numpy(logits).double().log_softmax(-1).numpy())
