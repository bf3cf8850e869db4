"""Attribution by gradients: integrated gradients (Sundararajan et al., 2017) and gradient x input.

A subject comes in; scores of its words go out. Words move on a straight line from a baseline to their embeddings while
[CLS], [SEP], positions and segments stay. The integral takes as many steps as it needs: Clenshaw and Curtis's rule is
doubled, which asks only for the slopes between those that are known, until scores sum up to what all words change. With
a given number of steps it is Gauss and Legendre's rule.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unmask.errors import InputError
from unmask.explain.attribution import Attribution
from unmask.explain.reading import NO_WORD
from unmask.explain.subject import Subject, chunks

BASELINES = ("pad", "mask", "zero")  # what stands for a word that says nothing: a piece's embedding, or no vector
TOLERANCE = 0.01  # of the largest word's score: by how much the sum may miss before more steps are taken
FEWEST, MOST = 16, 128  # intervals; with 8 the sum is at times right by chance while words are not

Floats = NDArray[np.float64]
Slopes = Callable[[Floats], Floats]  # (C,) places on the way -> (C, T) how fast each token changes the score there


def integrated_gradients(subject: Subject, *, steps: int | None = None, baseline: str = "pad") -> Attribution:
    """The words' scores, which sum up to the score less the baseline's: the difference is the completeness error."""
    if steps is not None and steps < 1:
        raise InputError(f"{steps} steps", wanted="at least one")
    vectors, start = subject.vectors(), baseline_vectors(subject, baseline)  # (T, D) each
    with torch.inference_mode():
        lowest, highest = subject.scores_of_vectors(torch.stack([start, vectors])).double().tolist()
    slopes = slopes_between(subject, start, vectors)
    for taken, tokens in finer_and_finer(slopes) if steps is None else [gauss_legendre(slopes, steps)]:
        scores = subject.reading.word_sums(tokens)
        error = abs(float(scores.sum()) - (highest - lowest))
        found = Attribution(scores, completeness_error=error, steps=taken)
        if error <= TOLERANCE * np.abs(scores).max(initial=0.0):
            break
    return found


def slopes_between(subject: Subject, start: Tensor, end: Tensor) -> Slopes:
    """How fast each token changes the score at places between two sets of embeddings, all places in few batches."""

    def slopes(places: Floats) -> Floats:
        found = []
        for some in chunks(places, len(start)):
            at = torch.from_numpy(some).to(start)[:, None, None]  # (C, 1, 1)
            found.append((gradients(subject, start + at * (end - start)) * (end - start)).sum(-1))
        return torch.cat(found).double().cpu().numpy()

    return slopes


def gauss_legendre(slopes: Slopes, steps: int) -> tuple[int, Floats]:
    """The steps, and what each token changes all along the way."""
    places, weights = np.polynomial.legendre.leggauss(steps)
    return steps, weights / 2 @ slopes((places + 1) / 2)


def finer_and_finer(slopes: Slopes) -> Iterator[tuple[int, Floats]]:
    """The same again and again, each time with twice the intervals and the known slopes in every second place."""
    places, weights = clenshaw_curtis(FEWEST)
    known = slopes(places)  # (C, T)
    yield len(known), weights @ known
    while len(known) <= MOST:
        places, weights = clenshaw_curtis(2 * len(known) - 2)
        known = np.insert(known, np.arange(1, len(known)), slopes(places[1::2]), axis=0)
        yield len(known), weights @ known


def clenshaw_curtis(intervals: int) -> tuple[Floats, Floats]:
    """Places from 0 to 1 and their weights, which integrate polynomials exactly up to the (even) number of intervals.

    >>> places, weights = clenshaw_curtis(2)  # Simpson's rule
    >>> places.round(3).tolist(), (6 * weights).round(3).tolist()
    ([0.0, 0.5, 1.0], [1.0, 4.0, 1.0])
    """
    angles = np.pi * np.arange(intervals + 1) / intervals
    even = np.arange(2, intervals + 1, 2)
    shares = np.where(even == intervals, 1, 2) / (even**2 - 1)
    weights = (1 - np.cos(np.outer(angles, even)) @ shares) / intervals
    weights[[0, -1]] /= 2
    return (1 - np.cos(angles)) / 2, weights


def gradient_times_input(subject: Subject) -> Attribution:
    """The slope at the text itself times the embeddings: one backward pass, right only for small changes."""
    vectors = subject.vectors()
    (slope,) = gradients(subject, vectors[None])
    return Attribution(subject.reading.word_sums((slope * vectors).sum(-1).double().cpu().numpy()))


def gradients(subject: Subject, vectors: Tensor) -> Tensor:
    """The gradient of the score at some word embeddings."""  # (C, T, D) -> (C, T, D)
    vectors = vectors.detach().requires_grad_()
    with torch.enable_grad():
        (found,) = torch.autograd.grad(subject.scores_of_vectors(vectors).sum(), vectors)
    return found


def baseline_vectors(subject: Subject, baseline: str) -> Tensor:
    """The embeddings with every word at its baseline."""  # (T, D)
    if baseline not in BASELINES:
        raise InputError(f"baseline {baseline!r}", wanted=", ".join(BASELINES))
    vectors = subject.vectors()
    words = torch.from_numpy(subject.reading.numbers != NO_WORD).to(vectors.device)
    pieces = {"pad": subject.tokenizer.pad_id, "mask": subject.tokenizer.mask_id}
    if baseline == "zero":
        vectors[words] = 0
    else:
        vectors[words] = subject.model.bert.embeddings.words.weight.detach()[pieces[baseline]]
    return vectors
