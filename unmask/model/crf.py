"""A linear-chain conditional random field (Lafferty et al. 2001): how well tags follow one another, learned with them.

The scores of all words' tags come in, sentences end to end; the loss of the right path among all paths goes out. The
likeliest path is found in `unmask.decode.tags`, which needs no torch.
"""

import torch
from torch import Tensor, nn


class Crf(nn.Module):
    """What a path of tags scores beyond its words: each step, the first tag and the last."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # from row to column
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))

    def rows(self) -> Tensor:
        """All of it as rows of tags: the transitions, the start, the end."""  # (K + 2, K)
        return torch.cat([self.transitions, self.start[None], self.end[None]])


def path_loss(scores: Tensor, labels: Tensor, lengths: Tensor, rows: Tensor) -> Tensor:
    """Minus the log-probability of the right path of each sentence, summed; `rows` are those of a `Crf`.

    >>> rows = Crf(2).rows()
    >>> loss = path_loss(torch.zeros(3, 2), torch.tensor([0, 1, 1]), torch.tensor([1, 2]), rows)
    >>> round(loss.exp().item())  # one of two paths, then one of four
    8
    """  # (T, K), (T,), (B,), (K + 2, K)
    lengths = lengths[lengths > 0]
    transitions, start, end = rows[:-2], rows[-2], rows[-1]
    return _all_paths(scores, lengths, transitions, start, end).sum() - _right_paths(
        scores, labels, lengths, transitions, start, end
    )


def _right_paths(
    scores: Tensor, labels: Tensor, lengths: Tensor, transitions: Tensor, start: Tensor, end: Tensor
) -> Tensor:
    """What the right paths score, together."""
    lasts = lengths.cumsum(0) - 1
    firsts = lasts - lengths + 1
    follows = torch.ones(len(labels), dtype=torch.bool, device=labels.device)
    follows[firsts] = False  # the first word of a sentence does not follow the last of another
    steps = transitions[labels[:-1], labels[1:]][follows[1:]]
    words = scores.gather(1, labels[:, None])
    return words.sum() + steps.sum() + start[labels[firsts]].sum() + end[labels[lasts]].sum()


def _all_paths(scores: Tensor, lengths: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The logarithm of what all paths of a sentence sum to, longest sentence first (the forward algorithm)."""  # (B,)
    sizes, order = lengths.sort(descending=True, stable=True)
    firsts = (lengths.cumsum(0) - lengths)[order]
    alive = [int((sizes > step).sum()) for step in range(int(sizes[0]) if len(sizes) else 0)]
    reached = start + scores[firsts]  # (B, K): of all paths to each tag
    ended = []
    for step in range(1, len(alive)):
        ended.append(reached[alive[step] :])
        steps = reached[: alive[step], :, None] + transitions  # (alive, K, K)
        reached = steps.logsumexp(1) + scores[firsts[: alive[step]] + step]
    return (torch.cat([reached, *reversed(ended)]) + end).logsumexp(1)
