"""The application that a model folder describes: a folder or a model's name in, something to call with text out."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.apps.predict import Predictor
from unmask.model.named import find_model
from unmask.runtime.folder import is_serving_folder

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

App = Callable[..., Any]  # which of them it is, only the folder knows


def load(name: Path | str, *, device: str = "cpu") -> App:
    """Opens a folder and gives the application for its head; a serving folder answers without torch.

    >>> import tempfile
    >>> from unmask.model.about import About
    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.folder import save_model
    >>> from unmask.text.tokenizer import Tokenizer
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=6)
    >>> folder = Path(tempfile.mkdtemp()) / "encoder"
    >>> save_model(folder, config, Bert(config), Tokenizer([*SPECIAL_PIECES, "word"]), About())
    >>> load(folder)("word").vectors.shape
    (1, 128)
    """
    if is_serving_folder(find_model(name)):
        return Predictor.open(name, device=device)
    from unmask.model.folder import open_model

    opened = open_model(name, device=device)
    make = APPS.get(opened.about.head)
    return Predictor.of_model(opened, str(name)) if make is None else make(opened)


def _filler(opened: "ModelFolder") -> App:
    from unmask.apps.fill import Filler

    return Filler(opened.model, opened.tokenizer)


def _following(opened: "ModelFolder") -> App:
    from unmask.apps.following import Following

    return Following(opened.model, opened.tokenizer)


def _features(opened: "ModelFolder") -> App:
    from unmask.apps.features import Features

    return Features(opened.model, opened.tokenizer)


def _entities(opened: "ModelFolder") -> App:
    from unmask.apps.tag import EntityFinder

    return EntityFinder(opened.model, opened.tokenizer, opened.about)


def _answers(opened: "ModelFolder") -> App:
    from unmask.apps.answer import AnswerFinder

    return AnswerFinder(opened.model, opened.tokenizer, opened.about)


APPS: dict[str | None, Callable[["ModelFolder"], App]] = {  # what has more to say than a predictor
    "pretraining": _filler,
    "masked_words": _filler,
    "next_sentence": _following,
    "tokens": _entities,
    "tags_crf": _entities,
    "span": _answers,
    "embedding": _features,
    None: _features,
}
