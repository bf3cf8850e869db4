"""Explains an answer: a model folder and an example in, an `Explanation` out, its faithfulness measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unmask.errors import InputError
from unmask.explain.attribution import Attribution, side_by_side
from unmask.explain.erasure import ORDERS, leave_one_out, shapley
from unmask.explain.explanation import Explanation
from unmask.explain.faithfulness import RANDOM_ORDERS, faithfulness
from unmask.explain.gradients import gradient_times_input, integrated_gradients
from unmask.explain.rollout import attention_rollout
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.model.folder import ModelFolder, open_model


def explain(
    model: ModelFolder | Path | str,
    example: Any,
    pair: str | None = None,
    *,
    method: str = "ig",
    target: str | None = None,
    steps: int | None = None,
    chinese_words: bool = False,
    orders: int = RANDOM_ORDERS,
    seed: int = 0,
) -> Explanation:
    """Which words decided, and how true that is.

    `model` is an opened folder, or the path or name of one. `example` is a text, with `pair` a pair of texts (or a
    question and the text it is asked of), or an example of the model's task; without a `target` the model's own answer
    is explained. `steps` are those of integrated gradients (without, as many as they need), or the sampled orders of
    Shapley values; `orders` the random orders that the explanation is held against.
    """
    opened = model if isinstance(model, ModelFolder) else open_model(model)
    given = example if pair is None else (example, pair)
    subject = subject_of(opened, given, target=target, chinese_words=chinese_words)
    return explained(subject, method=method, steps=steps, orders=orders, seed=seed)


def explained(
    subject: Subject, *, method: str = "ig", steps: int | None = None, orders: int = RANDOM_ORDERS, seed: int = 0
) -> Explanation:
    """The same of a subject."""
    if method not in METHODS:
        raise InputError(f"method {method!r}", wanted=", ".join(METHODS), do="choose one with --method")
    found = side_by_side([METHODS[method](side, steps, seed) for side in subject.sides()])
    everything = np.ones((1, len(subject.reading.words)), bool)
    return Explanation(
        label=subject.target.label,
        score=float(subject.scores(everything)[0]),
        probability=float(subject.probabilities(everything)[0]) if subject.target.has_probability else None,
        method=method,
        texts=subject.reading.texts,
        words=subject.reading.words,
        scores=tuple(found.scores.tolist()),
        faithfulness=faithfulness(subject, found.scores, orders=orders, seed=seed),
        completeness_error=found.completeness_error,
        steps=found.steps,
        standard_errors=None if found.standard_errors is None else tuple(found.standard_errors.tolist()),
    )


METHODS: dict[str, Callable[[Subject, int | None, int], Attribution]] = {
    "ig": lambda subject, steps, _: integrated_gradients(subject, steps=steps),
    "gradient": lambda subject, *_: gradient_times_input(subject),
    "erasure": lambda subject, *_: leave_one_out(subject),
    "shapley": lambda subject, steps, seed: shapley(subject, orders=ORDERS if steps is None else steps, seed=seed),
    "attention": lambda subject, *_: attention_rollout(subject),
}
