"""Minimal pairs (Warstadt et al. 2020): two sentences that differ in one point of grammar; is the good one likelier?

Pairs and a function that scores sentences in, the share of pairs judged rightly out, also by category and paradigm.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.errors import InputError


@dataclass(frozen=True)
class Pair:
    """A good and a bad sentence, and what tells them apart."""

    good: str
    bad: str
    paradigm: str = ""
    category: str = ""


@dataclass(frozen=True)
class JudgedPairs:
    """The share of pairs whose good sentence was the likelier one; a tie counts half."""

    accuracy: float
    examples: int
    categories: Mapping[str, float]
    paradigms: Mapping[str, float]

    @property
    def category_mean(self) -> float | None:
        """The mean of the categories, each counted once however many pairs it has: BabyLM's figure; none without any.

        >>> JudgedPairs(0.75, 4, {"agreement": 1.0, "islands": 0.0}, {}).category_mean
        0.5
        """
        return sum(self.categories.values()) / len(self.categories) if self.categories else None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        found = {"task": "minimal_pairs", "metric": "accuracy", "score": self.accuracy, "examples": self.examples}
        mean = {} if self.category_mean is None else {"category_mean": self.category_mean}
        return found | mean | {"categories": dict(self.categories), "paradigms": dict(self.paradigms)}


def read_pairs(rows: Iterable[tuple[str, Mapping[str, Any]]], *, limit: int | None = None) -> list[Pair]:
    """Pairs from rows with their places in a file; at most `limit` of each paradigm.

    >>> read_pairs([("line 1", {"good": "Dogs bark.", "bad": "Dogs barks."})])
    [Pair(good='Dogs bark.', bad='Dogs barks.', paradigm='', category='')]
    """
    pairs: list[Pair] = []
    taken: Counter[str] = Counter()
    for place, row in rows:
        known = {name: row.get(name, "") for name in ("good", "bad", "paradigm", "category")}
        if not all(isinstance(value, str) for value in known.values()) or not (known["good"] and known["bad"]):
            raise InputError(f"{place}: {dict(row)}", wanted="the fields good and bad, a sentence each")
        pair = Pair(**known)
        taken[pair.paradigm] += 1
        if limit is None or taken[pair.paradigm] <= limit:
            pairs.append(pair)
    return pairs


def judge_pairs(pairs: Sequence[Pair], score: Callable[[list[str]], Sequence[float]]) -> JudgedPairs:
    """Scores all sentences at once and counts.

    >>> pairs = [Pair("Dogs bark.", "Dogs barks."), Pair("It rains.", "It rain.")]
    >>> judge_pairs(pairs, score=lambda sentences: [-len(sentence) for sentence in sentences]).accuracy
    0.5
    """
    scores = score([sentence for pair in pairs for sentence in (pair.good, pair.bad)])
    points = [(good > bad) + (good == bad) / 2 for good, bad in zip(scores[::2], scores[1::2], strict=True)]
    return JudgedPairs(
        sum(points) / len(points),
        len(points),
        mean_by([pair.category for pair in pairs], points),
        mean_by([pair.paradigm for pair in pairs], points),
    )


def mean_by(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """The mean of the values that share a name, sorted by name; what has no name is left out.

    >>> mean_by(["b", "a", "b", ""], [1.0, 1.0, 0.0, 0.0])
    {'a': 1.0, 'b': 0.5}
    """
    groups: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        groups.setdefault(name, []).append(value)
    return {name: sum(groups[name]) / len(groups[name]) for name in sorted(groups) if name}
