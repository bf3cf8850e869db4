"""A classifier as it is asked over HTTP: texts in, each with its own limit; a class for each out, or that it is unsure.

Where the labels are sides of a feeling, the answer says positive, negative or neutral besides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from unmask.apps.classify import Classify, Judged
from unmask.apps.predict import Predictor
from unmask.apps.refusing import Refused
from unmask.apps.sentiment import NEUTRAL_BELOW, side_of, sides_in_words
from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.serve.questions import Ask, ToClassify

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder
    from unmask.runtime.folder import ServingFolder


@dataclass(frozen=True)
class Felt:
    """A class that is a side of a feeling."""

    judged: Judged
    sentiment: str | None  # positive, negative or neutral; none where it is unsure

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it.

        >>> Felt(Judged("pos", 0.6, {"neg": 0.4, "pos": 0.6}), "neutral").to_dict()["sentiment"]
        'neutral'
        """
        return {**self.judged.to_dict(), "sentiment": self.sentiment}


def classifying(opened: "ServingFolder | ModelFolder", explained: "ServingFolder | ModelFolder", name: str) -> Ask:
    """What answers a batch of texts; `explained` is the same model, to be asked for words on another thread."""
    predictor = Predictor.of(opened, name)
    if predictor.task.kind != "classify" or opened.about.multi_label:
        return partial(_plain, predictor)
    return partial(_judged, Classify(predictor, opened=explained), sides_in_words(opened.about.labels))


def _judged(classify: Classify, sides: Mapping[str, str] | None, examples: list[ToClassify]) -> list[Any]:
    """One class for each text."""
    found = classify.many([_text(example) for example in examples])
    return [
        one if isinstance(one, Refused) else _told(classify, sides, one, example)
        for one, example in zip(found, examples, strict=True)
    ]


def _told(
    classify: Classify, sides: Mapping[str, str] | None, judged: Judged, example: ToClassify
) -> Judged | Felt | Refused:
    if sides is None and example.neutral_below is not None:
        return _NO_FEELING
    told = judged.or_none_below(example.threshold)
    try:
        told = classify.with_words(told, _text(example)) if example.words else told
    except InputError as error:
        return Refused(str(error))
    return told if sides is None else Felt(told, _side(told, sides, example.neutral_below))


def _side(judged: Judged, sides: Mapping[str, str], neutral_below: float | None) -> str | None:
    return side_of(judged, sides, neutral_below=NEUTRAL_BELOW if neutral_below is None else neutral_below)


def _plain(predictor: Predictor, examples: list[ToClassify]) -> list[Any]:
    """A value, or several labels, of each text: there is no likeliest class to be unsure of."""
    answers: Sequence[Any] = predictor.many([_text(example) for example in examples])
    return [_refused_of(example) or answer for example, answer in zip(examples, answers, strict=True)]


def _refused_of(example: ToClassify) -> Refused | None:
    """What only a model of one class a text can be asked."""
    if example.threshold or example.words:
        return _NOT_ONE_CLASS
    return None if example.neutral_below is None else _NO_FEELING


def _text(example: ToClassify) -> TextExample:
    return TextExample(example.text, example.pair)


_NO_FEELING = Refused(
    str(
        InputError(
            "'neutral_below' for a model whose labels are no sides of a feeling",
            wanted="labels such as positive and negative, pos and neg, 正面 and 负面",
            do="leave it out",
        )
    )
)
_NOT_ONE_CLASS = Refused(
    str(
        InputError(
            "'threshold' or 'words' for a model of values or of several labels a text",
            wanted="a model that gives each text one class",
            do="leave them out; /v1/explain shows words for any model",
        )
    )
)
