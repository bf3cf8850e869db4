"""Logits over the vocabulary -> words: the likeliest pieces of each masked place and their probabilities."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def top_pieces(logits: Floats, top: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The ids of the likeliest pieces and their probabilities, best first; equals stand in the order of their ids.

    >>> ids, probabilities = top_pieces(np.log([[0.1, 0.6, 0.3]]), 2)
    >>> ids, probabilities.round(3)
    (array([[1, 2]]), array([[0.6, 0.3]]))
    """  # (M, V) -> (M, top), (M, top)
    top = min(top, logits.shape[-1])
    chosen = np.sort(np.argpartition(-logits, top - 1, axis=-1)[:, :top], axis=-1)
    best_first = np.argsort(-np.take_along_axis(logits, chosen, -1), axis=-1, kind="stable")
    ids = np.take_along_axis(chosen, best_first, -1)
    return ids, np.exp(np.take_along_axis(log_softmax(logits), ids, -1))


def log_softmax(logits: Floats) -> NDArray[np.float64]:
    """Natural logarithms of the probabilities that scores stand for, along the last axis.

    >>> log_softmax(np.zeros((1, 2))).round(4)
    array([[-0.6931, -0.6931]])
    """
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    log_probabilities: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return log_probabilities


def log_probabilities_of(logits: Floats, targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-probability of one piece at each place.

    >>> log_probabilities_of(np.log([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0])).round(3)
    array([-0.288, -0.693])
    """  # (M, V), (M,) -> (M,)
    found: NDArray[np.float64] = np.take_along_axis(log_softmax(logits), targets[:, None], -1)[:, 0]
    return found
