"""What people give an estimator as `X` and `y` -> examples: lists, numpy arrays and pandas columns of texts or words.

What cannot be read is a `ValueError`, as scikit-learn expects, that says what came, what was wanted and what to do.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import GivenAnswer, QuestionExample, TaggedExample, TextExample
from unmask.errors import InputError


class Refused(InputError, ValueError):
    """Input of an estimator that is at fault."""


def as_list(given: Any) -> list[Any]:
    """Any sequence of examples as a list, also columns and tables of pandas, which is not needed for it.

    >>> as_list(np.array([["a", "b"]])), as_list(("a",))
    ([['a', 'b']], ['a'])
    """
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise Refused(f"{type(given).__name__} {str(given)[:60]!r}", wanted="a list or array of examples")
    values = given.to_numpy() if hasattr(given, "to_numpy") else given
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def check_lengths(examples: Sequence[Any], y: Any) -> list[Any]:
    """`y` as a list, one for each example."""
    if y is None:
        raise Refused(
            "no y", wanted="what is to be learned: this estimator requires y to be passed, but the target y is None"
        )
    given = as_list(y)
    if len(given) != len(examples):
        raise Refused(f"{len(examples)} examples and {len(given)} y", wanted="one y for each example")
    return given


def texts(X: Any) -> list[TextExample]:
    """Texts, or pairs of texts.

    >>> texts([("a", "b"), "c"])[0].pair
    'b'
    """
    found = [_text(value) for value in as_list(X)]
    if not found:
        raise Refused("no texts", wanted="at least one")
    return found


def _text(value: Any) -> TextExample:
    if isinstance(value, str):
        return TextExample(value)
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return TextExample(value[0], value[1])
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str):
        return TextExample(value[0])
    raise Refused(f"{type(value).__name__} {str(value)[:60]!r}", wanted="a text, or a pair of texts")


def labelled_texts(X: Any, labels: Sequence[Any]) -> list[TextExample]:
    """The same with what is to be said of them."""
    return [
        TextExample(example.text, example.pair, label=label) for example, label in zip(texts(X), labels, strict=True)
    ]


def sentences(X: Any, tags: Sequence[tuple[str, ...]] | None = None) -> list[TaggedExample]:
    """Sentences of words.

    >>> sentences([["Ann", "sang"]])[0].words
    ((0, 3), (4, 8))
    """
    found = []
    for number, words in enumerate(as_list(X)):
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise Refused(f"{str(words)[:60]!r}", wanted="a list of words", do="split the text into words")
        own = None if tags is None else tags[number]
        if own is not None and len(own) != len(words):
            raise Refused(f"{len(own)} tags for {len(words)} words in {' '.join(words)[:60]!r}", wanted="one each")
        ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64).tolist()  # a space behind each
        places = tuple((end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True))
        found.append(TaggedExample(" ".join(words), places, own))
    return found


def questions(X: Any, answers: Sequence[Any] | None = None) -> list[QuestionExample]:
    """Questions on contexts, and their answers as texts, texts with their start, or none.

    >>> questions([("Who sang?", "Ann sang.")], ["Ann"])[0].answers
    (GivenAnswer(text='Ann', start=0),)
    """
    found = []
    for number, example in enumerate(texts(X)):
        if example.pair is None:
            raise Refused(f"{example.text[:60]!r}", wanted="a question and its context")
        own = None if answers is None else _answers(answers[number], example.pair)
        found.append(QuestionExample(example.text, example.pair, own))
    return found


def _answers(given: Any, context: str) -> tuple[GivenAnswer, ...]:
    if given is None:
        return ()
    text, start = given if isinstance(given, list | tuple) else (given, context.find(str(given)))
    if start < 0 or context[start : start + len(text)] != text:
        raise Refused(f"answer {str(text)[:60]!r}", wanted="a stretch of its context", do="give (answer, start)")
    return (GivenAnswer(text, int(start)),)


def typed(names: Sequence[str], kind: str) -> NDArray[Any]:
    """Names of classes as they were before they became names, by numpy's letter for their type.

    >>> typed(("0", "1"), "i"), typed(("False", "True"), "b")
    (array([0, 1]), array([False,  True]))
    """
    if kind == "b":
        return np.array([name == "True" for name in names])
    if kind in "iuf":
        return np.array(names).astype({"i": np.int64, "u": np.uint64, "f": np.float64}[kind])
    return np.array(names)
