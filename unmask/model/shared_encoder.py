"""Models that share an encoder: a folder names its base and stores only what differs from it.

In: a model's tensors and its base. Out: those that the base does not have, to be saved; and back, all of them again.
Of a matrix that differs in some rows, such as word embeddings of which a text has a part, only those are stored. What
fine-tuning changes is small beside the weights themselves, so that the changes can be rounded to int8 at little loss. A
base is known by the hash of its weights, so that nobody's answers change when it is replaced.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.files import sha256
from unmask.model.about import About, read_object
from unmask.model.int8_rows import SCALE, exact, rounded
from unmask.model.named import NAMED, find_model
from unmask.model.names import POOLED_HEADS
from unmask.model.weights import Weights, read_weights
from unmask.text.tokenizer import Tokenizer

WEIGHTS = "model.safetensors"
WORDS = "bert.embeddings.word_embeddings.weight"
ROWS, CHANGED = "@rows", "@changed"  # behind a tensor's name: which rows differ from the base's, and these rows
STEPS = "@steps"  # or their changes in int8, with the scale of each row
MOST_ROWS = 0.9  # share of its rows up to which a matrix is stored by rows
TOKENIZER_FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Base:
    """A model whose encoder others share."""

    model: str  # its name, or where its folder is
    folder: Path
    sha256: str  # of its weights

    def told(self, tokenizer: Tokenizer) -> dict[str, str]:
        """What a folder says of its base; `vocabulary` is there if the base's tokenizer is the folder's as well."""
        said = {"model": self.model, "sha256": self.sha256}
        same = Tokenizer.load(self.folder).vocabulary_hash == tokenizer.vocabulary_hash
        return {**said, "vocabulary": tokenizer.vocabulary_hash} if same else said


def find_base(model: Path | str) -> Base:
    """The base that a name or a folder stands for; it must be on this machine and hold all of its weights itself."""
    if str(model).startswith("hf:"):
        raise InputError(f"base {model}", wanted="a model on this machine", do="bring it here with: unmask convert")
    folder = find_model(model)
    if not (folder / WEIGHTS).is_file():
        missing = "which does not exist" if not folder.exists() else f"which has no {WEIGHTS}"
        raise InputError(f"base {model}, {missing}", wanted=f"a model folder with {WEIGHTS}", do="name one")
    its_own = read_object(folder / "unmask.json").get("base") if (folder / "unmask.json").is_file() else None
    if its_own:
        raise InputError(f"base {model}, which has a base itself: {its_own['model']}", do="name that one")
    return Base(str(model) if model in NAMED else str(folder.resolve()), folder, sha256(folder / WEIGHTS))


def base_of(about: About, source: Path) -> Base | None:
    """The base that a folder says it has, if it is still the same; none if the folder is whole."""
    if not about.base:
        return None
    do = "put it back, or take a folder that holds everything"
    try:
        found = find_base(about.base["model"])
    except InputError as error:
        raise InputError(f"{source}, which lacks its {error.got}", wanted=error.wanted, do=do) from error
    if found.sha256 != about.base["sha256"]:
        got = f"{source}, whose base {found.model} is another than it was made on"
        raise InputError(got, wanted=f"weights of SHA-256 {about.base['sha256']}", do=do)
    return found


def shared_tokenizer(about: About, base: Base, source: Path) -> Tokenizer:
    """The tokenizer of the base, if it is still the one that the folder was made with."""
    tokenizer = Tokenizer.load(base.folder)
    if tokenizer.vocabulary_hash != about.base["vocabulary"]:
        got = f"{source}, whose base {base.model} has another vocabulary than it was made with"
        raise InputError(got, do="put the old one back, or take a folder that holds everything")
    return tokenizer


def own_tensors(
    published: Mapping[str, Tensor], about: About, base: Base, most_rows: int | None = None, *, in_int8: bool = False
) -> dict[str, Tensor]:
    """The tensors that a folder must store itself: all that its base does not lend in the very same values.

    Of word embeddings at most so many rows, if that is given: those that moved farthest. Changes of matrices may be
    rounded.
    """
    lent = _lent(about, base)
    own: dict[str, Tensor] = {}
    for name, tensor in published.items():
        if name in lent and lent[name].shape == tensor.shape:
            most = most_rows if name == WORDS else None
            own |= _difference(name, tensor.cpu(), lent[name], most, in_int8=in_int8 and tensor.ndim > 1)
        else:
            own[name] = tensor
    return own


def _difference(
    name: str, tensor: Tensor, lent: Tensor, most: int | None = None, *, in_int8: bool = False
) -> dict[str, Tensor]:
    """Nothing, the rows that differ and their numbers, or the whole tensor; if `in_int8`, changes in place of values.

    >>> {name: rows.tolist() for name, rows in _difference("w", torch.tensor([[1.0], [3.0]]), torch.ones(2, 1)).items()}
    {'w@rows': [1], 'w@changed': [[3.0]]}
    """
    differs = tensor.float() != lent.float()
    if not differs.any():
        return {}
    rows = differs.flatten(1).any(1).nonzero()[:, 0] if tensor.ndim > 1 else torch.arange(len(tensor))
    if most is not None and len(rows) > most:
        moved = (tensor[rows].float() - lent[rows].float()).norm(dim=1)
        rows = rows[moved.topk(most).indices.sort().values]
    whole = len(rows) > MOST_ROWS * len(tensor)
    numbers = {} if whole else {name + ROWS: rows.to(torch.int32)}
    if in_int8:
        return numbers | _rounded(name, tensor - lent if whole else tensor[rows] - lent[rows])
    return {name: tensor} if whole else numbers | {name + CHANGED: tensor[rows]}


def _rounded(name: str, change: Tensor) -> dict[str, Tensor]:
    """A matrix in int8, each row by a scale of its own."""
    steps, scale = rounded(change)
    return {name + STEPS: steps, name + SCALE: scale}


def with_base(own: Weights, about: About, base: Base) -> Weights:
    """A folder's own tensors and those that its base lends, its own rows in them."""
    tensors, lent = dict(own.tensors), _lent(about, base)
    for name in {key.partition("@")[0] for key in own.tensors if "@" in key}:
        before = lent[name]
        rows = tensors.pop(name + ROWS).long() if name + ROWS in tensors else torch.arange(len(before))
        if name + STEPS in tensors:
            change = exact(tensors.pop(name + STEPS), tensors.pop(name + SCALE))
            before, changed = before.float(), before[rows].float() + change
        else:
            changed = tensors.pop(name + CHANGED).to(before.dtype)
        tensors[name] = before.index_copy(0, rows, changed)
    return replace(own, tensors=lent | tensors)


def _lent(about: About, base: Base) -> dict[str, Tensor]:
    """The encoder of a base; its pooler only for a head that reads it, so that no other model gets one by this."""
    pooler = about.head in POOLED_HEADS and not about.features
    tensors = read_weights(base.folder / WEIGHTS).tensors
    return {
        name: tensor
        for name, tensor in tensors.items()
        if name.startswith("bert.") and (pooler or not name.startswith("bert.pooler."))
    }
