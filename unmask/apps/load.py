"""The application that a model folder describes: a folder or a model's name in, something to call with text out."""

from collections.abc import Callable
from pathlib import Path

from unmask.apps.features import Features
from unmask.apps.fill import Filler
from unmask.apps.following import Following
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.folder import open_model
from unmask.model.heads import BertWithHead
from unmask.text.tokenizer import Tokenizer

App = Filler | Following | Features

APPS: dict[str | None, Callable[[Bert | BertWithHead, Tokenizer], App]] = {
    "pretraining": Filler,
    "masked_words": Filler,
    "next_sentence": Following,
    "embedding": Features,
    None: Features,
}


def load(name: Path | str, *, device: str = "cpu") -> App:
    """Opens a folder and gives the application for its head.

    >>> import tempfile
    >>> from unmask.model.about import About
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.folder import save_model
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig.named("tiny", vocabulary_size=6)
    >>> folder = Path(tempfile.mkdtemp()) / "encoder"
    >>> save_model(folder, config, Bert(config), Tokenizer([*SPECIAL_PIECES, "word"]), About())
    >>> load(folder)("word").vectors.shape
    (1, 128)
    """
    opened = open_model(name, device=device)
    if opened.about.head not in APPS:
        heads = ", ".join(head for head in APPS if head)
        raise InputError(f"{name} with the head {opened.about.head!r}", wanted=f"a bare encoder or one of {heads}")
    return APPS[opened.about.head](opened.model, opened.tokenizer)
