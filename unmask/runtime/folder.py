"""The serving folder: a model exported to ONNX and all that is needed to answer with it, opened without torch.

`onnx/model.onnx` (or `onnx/model_quantized.onnx`, int8) is the model, where transformers.js and optimum look for it;
beside it lie the tokenizer's files, `config.json`, `unmask.json`, and `checksums.txt` in the format of sha256sum, which
names every file that belongs to the export. Opening checks them all.
"""

from dataclasses import dataclass
from pathlib import Path

from unmask.errors import InputError
from unmask.files import sha256
from unmask.model.about import About, read_object
from unmask.model.config import BertConfig
from unmask.runtime.engine import Engine
from unmask.text.tokenizer import Tokenizer

CHECKSUMS = "checksums.txt"
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
    names = check_files(folder)
    models = [name for name in names if name in MODELS]
    if len(models) != 1:
        raise InputError(f"{folder} with {len(models)} models in {CHECKSUMS}", wanted="one", do="export it again")
    config = BertConfig.from_published(read_object(folder / "config.json"))
    about = About.from_fields(read_object(folder / "unmask.json"), str(folder / "unmask.json"))
    engine = Engine(folder / models[0], about.head, threads=threads)
    return ServingFolder(config, about, Tokenizer.load(folder), engine)


def check_files(folder: Path) -> list[str]:
    """The names of an export's files, each of which has its checksum."""
    path = folder / CHECKSUMS
    if not path.is_file():
        raise InputError(f"{folder}, which is no serving folder", wanted=f"{CHECKSUMS} in it", do="use unmask export")
    names = []
    for line in path.read_text(encoding="utf-8").splitlines():
        expected, _, name = line.partition("  ")
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            raise InputError(f"{folder / name}, which is damaged", wanted=f"SHA-256 {expected}", do="export it again")
        names.append(name)
    return names


def write_checksums(folder: Path) -> None:
    """Writes `checksums.txt` for all files of a folder, as `sha256sum -c` reads it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CHECKSUMS)
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
