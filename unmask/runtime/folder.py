"""The serving folder: a model exported to ONNX and all that is needed to answer with it, opened without torch.

`onnx/model.onnx` (or `onnx/model_quantized.onnx`, int8) is the model, where transformers.js and optimum look for it;
beside it lie the tokenizer's files, `config.json`, `unmask.json`, and `checksums.txt` in the format of sha256sum, which
names every file of the export but its card. Opening checks them all.
"""

from dataclasses import dataclass
from pathlib import Path

from unmask.errors import InputError
from unmask.model.about import About, read_object
from unmask.model.checksums import CHECKSUMS, check_files
from unmask.model.config import BertConfig
from unmask.runtime.engine import Engine
from unmask.text.tokenizer import Tokenizer

MODELS = ("onnx/model.onnx", "onnx/model_quantized.onnx")


@dataclass(frozen=True)
class ServingFolder:
    """An opened serving folder."""

    config: BertConfig
    about: About
    tokenizer: Tokenizer
    engine: Engine


def is_serving_folder(folder: Path) -> bool:
    """Whether a folder was made by `unmask export`.

    >>> is_serving_folder(Path("nowhere"))
    False
    """
    return (folder / CHECKSUMS).is_file() and any((folder / name).is_file() for name in MODELS)


def open_serving(folder: Path | str, *, threads: int | None = None) -> ServingFolder:
    """Opens a serving folder whose files are as they were written."""
    folder = Path(folder)
    if not (folder / CHECKSUMS).is_file():
        raise InputError(f"{folder}, which is no serving folder", wanted=f"{CHECKSUMS} in it", do="use unmask export")
    names = check_files(folder, do="export it again")
    models = [name for name in names if name in MODELS]
    if len(models) != 1:
        raise InputError(f"{folder} with {len(models)} models in {CHECKSUMS}", wanted="one", do="export it again")
    config = BertConfig.from_published(read_object(folder / "config.json"))
    about = About.from_fields(read_object(folder / "unmask.json"), str(folder / "unmask.json"))
    engine = Engine(folder / models[0], about.head, threads=threads)
    return ServingFolder(config, about, Tokenizer.load(folder), engine)
