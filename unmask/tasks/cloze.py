"""Cloze: a sentence with one word missing; is it among the words that a model would put there?

Examples and each one's likeliest pieces in, the share found at the first place and among the first five out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.errors import InputError
from unmask.tasks.minimal_pairs import mean_by

FEW = 5  # candidates that the wider measure looks at


@dataclass(frozen=True)
class Gap:
    """A sentence with one [MASK], and what stood there."""

    text: str
    answer: str
    category: str = ""


@dataclass(frozen=True)
class JudgedGaps:
    """How often the missing word was the first choice, and among the first five."""

    accuracy: float
    accuracy_at_5: float
    examples: int
    longer: int  # answers of several pieces, which one mask cannot hold: they count as missed
    categories: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        found = {"task": "cloze", "metric": "accuracy", "score": self.accuracy, "accuracy_at_5": self.accuracy_at_5}
        return found | {"examples": self.examples, "longer": self.longer, "categories": dict(self.categories)}


def read_gaps(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Gap]:
    """Gaps from rows with their places in a file.

    >>> read_gaps([("line 1", {"text": "Snow is [MASK].", "answer": "white"})])
    [Gap(text='Snow is [MASK].', answer='white', category='')]
    """
    gaps = []
    for place, row in rows:
        known = {name: row.get(name, "") for name in ("text", "answer", "category")}
        texts = all(isinstance(value, str) for value in known.values())
        if not texts or not known["answer"] or known["text"].count("[MASK]") != 1:
            raise InputError(f"{place}: {dict(row)}", wanted="a text with one [MASK], and the answer that stood there")
        gaps.append(Gap(**known))
    return gaps


def judge_gaps(
    gaps: Sequence[Gap], *, fill: Callable[[list[str]], Sequence[Sequence[str]]], piece: Callable[[str], str | None]
) -> JudgedGaps:
    """Compares what `fill` offers for each text, best first, with the answer as a piece (none if it needs several).

    >>> gaps = [Gap("Snow is [MASK].", "White"), Gap("Coal is [MASK].", "black")]
    >>> judge_gaps(gaps, fill=lambda texts: [["white", "black"]] * 2, piece=str.lower).accuracy
    0.5
    """
    answers = [piece(gap.answer) for gap in gaps]
    offered = fill([gap.text for gap in gaps])
    first = [float(answer == candidates[0]) for answer, candidates in zip(answers, offered, strict=True)]
    few = [answer in candidates[:FEW] for answer, candidates in zip(answers, offered, strict=True)]
    categories = mean_by([gap.category for gap in gaps], first)
    return JudgedGaps(sum(first) / len(gaps), sum(few) / len(gaps), len(gaps), answers.count(None), categories)
