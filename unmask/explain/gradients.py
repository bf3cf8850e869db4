"""Attribution by gradients: integrated gradients (Sundararajan et al., 2017) and gradient x input.

A subject comes in; scores of its words go out. Words move on a straight line from a baseline to their embeddings while
[CLS], [SEP], positions and segments stay. The integral is taken by Gauss and Legendre's rule, all steps in few batches.
"""

import numpy as np
import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.explain.attribution import Attribution
from unmask.explain.reading import NO_WORD
from unmask.explain.subject import Subject, chunks

BASELINES = ("pad", "mask", "zero")  # what stands for a word that says nothing: a piece's embedding, or no vector
STEPS = 50


def integrated_gradients(subject: Subject, *, steps: int = STEPS, baseline: str = "pad") -> Attribution:
    """The words' scores, which sum up to the score less the baseline's: the difference is the completeness error."""
    if steps < 1:
        raise InputError(f"{steps} steps", wanted="at least one")
    vectors, start = subject.vectors(), baseline_vectors(subject, baseline)  # (T, D) each
    way = vectors - start
    places, weights = np.polynomial.legendre.leggauss(steps)
    summed = torch.zeros_like(vectors)
    for some in chunks(np.stack([(places + 1) / 2, weights / 2], 1), len(vectors)):
        at, weight = torch.from_numpy(some).to(vectors)[:, :, None, None].unbind(1)  # (C, 1, 1)
        summed += (weight * gradients(subject, start + at * way)).sum(0)
    scores = subject.reading.word_sums((summed * way).sum(-1).double().cpu().numpy())
    with torch.inference_mode():
        lowest, highest = subject.scores_of_vectors(torch.stack([start, vectors])).double().tolist()
    return Attribution(scores, completeness_error=abs(float(scores.sum()) - (highest - lowest)))


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
