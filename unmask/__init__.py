"""unmask: BERT, end to end, on the machine you have. The public door: each name is loaded when it is first asked for.

>>> import unmask
>>> unmask.BertConfig.named("base").parameters
109482240
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.apps.estimators import Answerer, Classifier, Embedder, Regressor, Tagger
    from unmask.apps.load import load
    from unmask.errors import InputError
    from unmask.model.bert import Bert
    from unmask.model.config import BertConfig
    from unmask.model.folder import open_model
    from unmask.serve.client import Client
    from unmask.text.tokenizer import Tokenizer

__version__ = "0.1.0"
__all__ = [
    "Answerer",
    "Bert",
    "BertConfig",
    "Classifier",
    "Client",
    "Embedder",
    "InputError",
    "Regressor",
    "Tagger",
    "Tokenizer",
    "__version__",
    "load",
    "open_model",
]

MODULES = {
    "Answerer": "unmask.apps.estimators",
    "Bert": "unmask.model.bert",
    "BertConfig": "unmask.model.config",
    "Classifier": "unmask.apps.estimators",
    "Client": "unmask.serve.client",
    "Embedder": "unmask.apps.estimators",
    "InputError": "unmask.errors",
    "Regressor": "unmask.apps.estimators",
    "Tagger": "unmask.apps.estimators",
    "Tokenizer": "unmask.text.tokenizer",
    "load": "unmask.apps.load",
    "open_model": "unmask.model.folder",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
