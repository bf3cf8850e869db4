"""Several rankings of the same things -> one: reciprocal-rank fusion (Cormack, Clarke & Büttcher 2009).

Only places in the rankings count, never scores, since those of words and of vectors have no common measure.
"""

from collections import defaultdict
from collections.abc import Sequence

DAMPING = 60  # the paper's; larger lets agreement count for more, smaller a first place


def fuse(
    rankings: Sequence[Sequence[int]], *, weights: Sequence[float] | None = None, damping: float = DAMPING
) -> list[tuple[int, float]]:
    """All things of any ranking with their fused scores, best first, equals by number; each ranking is best first.

    >>> [thing for thing, _ in fuse([[3, 1, 2], [1, 4]])]
    [1, 3, 4, 2]
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, thing in enumerate(ranking, start=1):
            scores[thing] += weight / (damping + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
