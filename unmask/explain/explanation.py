"""An explanation: what was explained, how much each word speaks for it, and how true that is to the model.

A plain value: `to_dict` is what scripts read, `_repr_html_` what notebooks show, `in_colour` what a terminal shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unmask.explain.faithfulness import Faithfulness
from unmask.explain.reading import Word
from unmask.explain.shown import figures, terminal, words_as_html

METHODS_IN_WORDS = {
    "ig": "integrated gradients",
    "gradient": "gradient x input",
    "erasure": "leave-one-out",
    "shapley": "Shapley values",
    "attention": "attention rollout",
}


@dataclass(frozen=True)
class Explanation:
    """Why a model says what it says of one example."""

    label: str  # what is explained: a class, an entity, an answer, a word
    score: float  # the model's own number for it
    probability: float | None  # none where the score is no logit: values, similarities, spans
    method: str
    texts: tuple[str, ...]
    words: tuple[Word, ...]
    scores: tuple[float, ...]  # one for each word; below zero it speaks against the label
    faithfulness: Faithfulness
    completeness_error: float | None = None
    standard_errors: tuple[float, ...] | None = None
    steps: int | None = None  # of integrated gradients

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Where each word stands in its own text."""
        return [(word.start, word.end) for word in self.words]

    def best(self, count: int = 5) -> list[tuple[str, float]]:
        """The words that speak most for the label, the first most of all."""
        ranked = sorted(zip(self.words, self.scores, strict=True), key=lambda pair: -pair[1])
        return [(word.text, score) for word, score in ranked[:count]]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON has it; `parts` says which text each word belongs to."""
        told = {
            "label": self.label,
            "score": self.score,
            "probability": self.probability,
            "method": self.method,
            "tokens": [word.text for word in self.words],
            "parts": [word.part for word in self.words],
            "offsets": [[start, end] for start, end in self.offsets],
            "scores": list(self.scores),
            "faithfulness": self.faithfulness.to_dict(),
        }
        if self.probability is None:
            del told["probability"]
        if self.completeness_error is not None:
            told["completeness_error"] = self.completeness_error
        if self.steps is not None:
            told["steps"] = self.steps
        if self.standard_errors is not None:
            told["standard_errors"] = list(self.standard_errors)
        return told

    def notes(self) -> Sequence[str]:
        """What is to be said besides the words."""
        return figures(self.to_dict() | {"method": METHODS_IN_WORDS[self.method]})

    def in_colour(self, width: int | None = None, *, colour: bool = True) -> str:
        """The words for a terminal, in colours where it has them, and the figures below."""
        return "\n".join([*terminal(self.texts, self.words, self.scores, width, colour=colour), "", *self.notes()])

    def _repr_html_(self) -> str:
        return words_as_html(self.texts, self.words, self.scores, self.notes())
