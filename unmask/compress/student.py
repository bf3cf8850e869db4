"""A student: a smaller model that starts with as much of its teacher as fits.

Where widths agree it takes every so-manyth layer (as DistilBERT does), the embeddings and the head. Where they do not,
its embeddings are the teacher's, turned so that the directions in which they differ most come first, and cut; the rest
is fresh.
"""

from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from unmask.compress.prune import keep_layers
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.config import SIZES, BertConfig
from unmask.model.heads import BertWithHead, make_head
from unmask.tasks.task import Task

HEAD_WIDTH = 64  # of the published sizes


def parse_size(size: str, teacher: BertConfig) -> BertConfig:
    """A shape by its name, or as layers x width; vocabulary, positions and all else are the teacher's.

    >>> shape = parse_size("6x384", BertConfig.named("base"))
    >>> shape.layers, shape.width, shape.heads, shape.feed_forward
    (6, 384, 6, 1536)
    """
    if size in SIZES:
        layers, width, heads = SIZES[size]
    else:
        first, times, second = size.lower().partition("x")
        if not (times and first.isdecimal() and second.isdecimal() and int(first) and int(second)):
            raise InputError(f"size {size!r}", wanted=f"{', '.join(SIZES)}, or layers x width such as 6x384")
        layers, width = int(first), int(second)
        heads = max(1, width // HEAD_WIDTH)
    same = width == teacher.width
    shape = replace(
        teacher,
        layers=layers,
        width=width,
        heads=teacher.heads if same else heads,
        feed_forward=teacher.feed_forward if same else 4 * width,
        pruned_heads=(),
    )
    if shape.parameters >= teacher.parameters:
        raise InputError(f"size {size} for a teacher of {teacher.layers}x{teacher.width}", wanted="a smaller one")
    return shape


def student_of(teacher: BertWithHead, shape: BertConfig, task: Task, seed: int = 0) -> BertWithHead:
    """A student of this shape with the teacher's kind of head."""
    if shape.width == teacher.bert.config.width:
        layers = [taught - 1 for taught in taught_layers(shape.layers, teacher.bert.config.layers)]
        return keep_layers(teacher, layers)
    bert = Bert(shape, seed)
    turn = principal_directions(teacher.bert.embeddings.words.weight, shape.width)  # (D, D')
    with torch.no_grad():
        for name in ("words", "positions", "segments"):
            getattr(bert.embeddings, name).weight.copy_(getattr(teacher.bert.embeddings, name).weight @ turn)
    return BertWithHead(bert, _head(teacher, shape, task, seed))


def taught_layers(student: int, teacher: int) -> list[int]:
    """The teacher's layer, counted from 1, that each layer of the student is taught by; the last by the last.

    >>> taught_layers(3, 12), taught_layers(4, 6)
    ([4, 8, 12], [2, 3, 4, 6])
    """
    return [round(layer * teacher / student) for layer in range(1, student + 1)]


def principal_directions(rows: Tensor, width: int) -> Tensor:
    """The directions in which rows have most of their length, as columns.

    >>> principal_directions(torch.tensor([[0.0, 3.0], [1.0, 0.0]]), 1).abs().flatten().tolist()
    [0.0, 1.0]
    """  # (V, D) -> (D, D')
    _, found = torch.linalg.eigh(rows.detach().T.double() @ rows.detach().double())  # ascending
    kept = found.flip(1)[:, :width]
    missing = width - kept.shape[1]  # a student wider than its teacher
    return torch.nn.functional.pad(kept, (0, max(0, missing))).to(rows.dtype)


def _head(teacher: BertWithHead, shape: BertConfig, task: Task, seed: int) -> torch.nn.Module:
    head = make_head(task.head, shape, outputs=task.outputs, pooling=getattr(task, "pooling", "mean"), seed=seed + 1)
    # what does not depend on the width, such as a random field or the bias of every word, is the teacher's
    known, fresh = deepcopy(teacher.head.state_dict()), head.state_dict()
    head.load_state_dict(
        {name: known[name] if known[name].shape == fresh[name].shape else fresh[name] for name in fresh}
    )
    return head
