"""Attribution by attention rollout (Abnar and Zuidema, 2020): where the states that the head reads may come from.

A subject comes in; shares of its words go out. Heads are averaged, the residual path is half of every layer, and layers
are multiplied. It asks what a token could gather, not what the answer used: faithfulness says whether that is the same.
"""

import numpy as np
import torch
from torch import Tensor

from unmask.data.ragged import pack
from unmask.explain.attribution import Attribution, Floats
from unmask.explain.subject import Subject


def attention_rollout(subject: Subject) -> Attribution:
    """How much of what is read comes from each word."""
    rows = subject.reading.rows
    shares = [np.zeros(len(row.ids)) for row in rows]
    places = set(subject.target.places)
    for number, row in enumerate(rows):
        rolled = rolled_out(attention_of(subject, number))  # (S, S)
        read = range(len(row.ids)) if subject.reads_all_tokens else [token for own, token in places if own == number]
        shares[number] += sum(rolled[token] for token in read) / max(len(read), 1)
    asked = len(rows) if subject.reads_all_tokens else len({row for row, _ in places})
    return Attribution(subject.reading.word_sums(np.concatenate(shares) / asked))


def attention_of(subject: Subject, row: int) -> list[Tensor]:
    """What every head of every layer attends to in a row: (H, S, S) for each layer."""
    read = subject.reading.rows[row]
    with torch.inference_mode():
        encoded = subject.model.bert(pack([read.ids], [read.segments]), keep_attention=True)
    return [maps[0][0] for maps in encoded.attention]


def rolled_out(layers: list[Tensor]) -> Floats:
    """The product of all layers' attention, each half its own token.

    >>> rolled_out([torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """  # (H, S, S) each -> (S, S)
    rolled: Tensor | None = None
    for maps in layers:
        mixed = maps.double().mean(0)
        step = (mixed + torch.eye(len(mixed), dtype=mixed.dtype, device=mixed.device)) / 2
        rolled = step if rolled is None else step @ rolled
    assert rolled is not None, "an encoder without layers attends to nothing"
    found: Floats = rolled.cpu().numpy()
    return found
