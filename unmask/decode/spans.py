"""Start and end logits of a question's windows -> answers: the best spans of the context, or that it does not say.

In: for each window its logits and where its tokens stand in the context. Out: the answer by characters of the original
context, with probabilities over the n-best spans of all windows and no answer together, as in SQuAD 2.0's reference.
An answer is made of whole words, from a word's first piece to a word's last, and stands within one paragraph.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.decode.labels import softmax
from unmask.decode.words import Floats

BLANK_LINE = re.compile(r"\n[^\S\n]*\n")  # between two paragraphs


@dataclass(frozen=True, eq=False)
class Window:
    """One window of a question and its context: [CLS] first, then the question, then a stretch of the context."""

    starts: Floats  # (S,) logits: the answer begins at this token; at [CLS]: there is none
    ends: Floats  # (S,) logits: the answer's last token is this
    in_context: NDArray[np.bool_]  # (S,)
    offsets: NDArray[np.integer]  # (S, 2) characters of the context; those of other tokens are never looked at
    begins: NDArray[np.bool_]  # (S,) a word begins with this token
    finishes: NDArray[np.bool_]  # (S,) a word ends with it
    ahead: float = 0.0  # what its spans have ahead of other windows', in logits


@dataclass(frozen=True)
class Span:
    """A candidate: context[start:end] and its probability among the candidates."""

    answer: str
    start: int
    end: int
    score: float

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON says it.

        >>> Span("Ann", 0, 3, 0.5).to_dict()
        {'answer': 'Ann', 'start': 0, 'end': 3, 'score': 0.5}
        """
        return {"answer": self.answer, "start": self.start, "end": self.end, "score": self.score}


@dataclass(frozen=True)
class Answered:
    """The answer to a question, or none, with the probability of what was answered; and the best spans in any case."""

    answer: str | None
    start: int | None
    end: int | None
    score: float
    no_answer_probability: float
    nbest: tuple[Span, ...]  # best first; spans only, also where no answer is given
    margin: float  # the best span's logit less that of no answer: what a threshold is compared with

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON says it.

        >>> Answered(None, None, None, 1.0, 1.0, (), 0.0).to_dict()
        {'answer': None, 'start': None, 'end': None, 'score': 1.0, 'no_answer_probability': 1.0, 'nbest': []}
        """
        place = {"answer": self.answer, "start": self.start, "end": self.end}
        odds = {"score": self.score, "no_answer_probability": self.no_answer_probability}
        return {**place, **odds, "nbest": [span.to_dict() for span in self.nbest]}


def answered(
    context: str,
    windows: Sequence[Window],
    *,
    threshold: float | None = None,
    top: int = 20,
    max_tokens: int = 30,
) -> Answered:
    """The best span, or no answer where its margin is under the threshold; without one (SQuAD 1.1) always a span.

    >>> offsets = np.array([[0, 0], [0, 3], [4, 8]])
    >>> context = np.array([False, True, True])
    >>> window = Window(np.array([0, 4, 1.0]), np.array([0, 3, 0.0]), context, offsets, context, context)
    >>> answered("Ann sang", [window]).answer
    'Ann'
    >>> answered("Ann sang", [window], threshold=8.0).answer is None
    True
    """
    breaks = np.array([match.end() for match in BLANK_LINE.finditer(context)], np.int64)
    spans = _merged([_best_in_window(window, breaks, top, max_tokens, whole=True) for window in windows], top)
    if not spans:  # one word that is longer than an answer may be: better a part of it than nothing
        spans = _merged([_best_in_window(window, breaks, top, max_tokens, whole=False) for window in windows], top)
    if not spans:
        return Answered(None, None, None, 1.0, 1.0, (), -np.inf)
    nothing = min(float(window.starts[0]) + float(window.ends[0]) for window in windows)
    nothing += _ahead(next(iter(spans)), windows)  # a lead tells where to look, not whether it is there
    scores = np.array([*spans.values(), -np.inf if threshold is None else nothing])
    *probabilities, no_answer = softmax(scores).tolist()
    nbest = tuple(
        Span(context[start:end], start, end, score) for (start, end), score in zip(spans, probabilities, strict=True)
    )
    best, margin = nbest[0], float(scores[0]) - nothing
    if threshold is not None and margin < threshold:
        return Answered(None, None, None, no_answer, no_answer, nbest, margin)
    return Answered(best.answer, best.start, best.end, best.score, no_answer, nbest, margin)


def _best_in_window(
    window: Window, breaks: NDArray[np.int64], top: int, max_tokens: int, *, whole: bool
) -> dict[tuple[int, int], float]:
    """The best spans of a window and their logits: all pairs of start <= end < start + max_tokens are looked at.

    They are made of `whole` words, or of any pieces, and hold none of the `breaks`, characters where paragraphs begin.
    """
    first, last = (window.begins, window.finishes) if whole else (True, True)
    starts = np.where(window.in_context & first, window.starts + window.ahead, -np.inf).astype(np.float64)  # (S,)
    ends = np.where(window.in_context & last, window.ends, -np.inf).astype(np.float64)
    reach = np.pad(ends, (0, max_tokens - 1), constant_values=-np.inf)
    pairs = starts[:, None] + np.lib.stride_tricks.sliding_window_view(reach, max_tokens)  # (S, max_tokens)
    if len(breaks):
        paragraphs = np.searchsorted(breaks, window.offsets[:, 0], side="right")  # (S,)
        reach = np.pad(paragraphs, (0, max_tokens - 1), mode="edge")
        same = np.lib.stride_tricks.sliding_window_view(reach, max_tokens) == paragraphs[:, None]
        pairs = np.where(same, pairs, -np.inf)
    flat = pairs.ravel()
    count = min(top, flat.size)
    chosen = np.argpartition(-flat, count - 1)[:count]
    token, more = np.divmod(chosen[flat[chosen] > -np.inf], max_tokens)
    places = zip(window.offsets[token, 0].tolist(), window.offsets[token + more, 1].tolist(), strict=True)
    return dict(zip(places, pairs[token, more].tolist(), strict=True))


def _ahead(place: tuple[int, int], windows: Sequence[Window]) -> float:
    """What the windows that a span stands in have ahead."""
    holding = (window for window in windows if (window.in_context & (window.offsets[:, 0] == place[0])).any())
    return next(holding).ahead


def _merged(windows: Sequence[dict[tuple[int, int], float]], top: int) -> dict[tuple[int, int], float]:
    """The best spans of all windows, best first; a span that two windows see keeps its better logit.

    >>> _merged([{(0, 3): 1.0, (4, 8): 3.0}, {(0, 3): 2.0}], 5)
    {(4, 8): 3.0, (0, 3): 2.0}
    """
    best: dict[tuple[int, int], float] = {}
    for spans in windows:
        for place, score in spans.items():
            best[place] = max(score, best.get(place, -np.inf))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:top])
