"""The model folder: everything that is needed to use a model, in the published layout, opened strictly and saved whole.

`open_model` takes a folder (or name, or weights file) of any published form; `save_model` writes `config.json`,
`model.safetensors`, the tokenizer's files, `unmask.json` and a model card, which transformers opens as any other BERT;
or, with a base, only what differs from it.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from unmask.errors import InputError
from unmask.model.about import (
    About,
    published_fields,
    read_about,
    read_object,
    sentence_modules,
    transformer_path,
)
from unmask.model.bert import Bert
from unmask.model.card import is_card, write_card
from unmask.model.config import BertConfig
from unmask.model.feature_heads import make_feature_head
from unmask.model.heads import BertWithHead, make_head
from unmask.model.int8_rows import stored_in_int8
from unmask.model.named import find_model, name_of
from unmask.model.names import HEAD_NAMES, POOLED_HEADS, LoadReport, published_names, to_google, to_ours, to_published
from unmask.model.shared_encoder import (
    TOKENIZER_FILES,
    Base,
    base_of,
    find_base,
    own_tensors,
    shared_tokenizer,
    with_base,
)
from unmask.model.tensorflow_checkpoint import write_checkpoint
from unmask.model.weights import Weights, read_weights
from unmask.model.whole_folder import finish, whole_folder
from unmask.text.tokenizer import Tokenizer

DTYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.float16}  # int8: what is no matrix
CONFIGS = ("config.json", "bert_config.json")
ALIGNMENT = 64  # bytes, of all memory that torch allocates
HEAD_WORDS = {
    "pretraining": "masked-word and next-sentence heads",
    "masked_words": "masked-word head",
    "next_sentence": "next-sentence head",
    "classes": "classes",
    "regression": "regression output",
    "tokens": "tags",
    "tags_crf": "tags in a conditional random field",
    "span": "answer span head",
    "choice": "choice head",
}


@dataclass(frozen=True)
class ModelFolder:
    """An opened model."""

    config: BertConfig
    model: BertWithHead | Bert
    tokenizer: Tokenizer
    about: About
    report: LoadReport
    base: Base | None = None  # the model that lent what the folder does not store

    @property
    def bert(self) -> Bert:
        """The encoder, whatever stands on it."""
        return self.model.bert if isinstance(self.model, BertWithHead) else self.model


def open_model(folder: Path | str, *, device: str = "cpu", head: str | None = None) -> ModelFolder:
    """Opens a model for use; every tensor must be there in its shape. `head` asks for another than the folder's own.

    >>> import tempfile
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> config = BertConfig(vocabulary_size=6, width=8, layers=1, heads=2, feed_forward=16, positions=12)
    >>> place = Path(tempfile.mkdtemp()) / "bare"
    >>> save_model(place, config, Bert(config), Tokenizer([*SPECIAL_PIECES, "word"]), About())
    >>> open_model(place).config == config
    True
    """
    path = find_model(folder)
    finish(path)
    home = _home(path)
    weights = read_weights(home if path.is_dir() else path)
    published = _read_config(home)
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.tensors.items()}
    about = read_about(path if path.is_dir() else home, published, shapes)
    base = base_of(about, home)
    weights = weights if base is None else with_base(weights, about, base)
    tokenizer = shared_tokenizer(about, base, home) if base and "vocabulary" in about.base else Tokenizer.load(home)
    about = replace(about, base={})  # an opened model is whole
    if head is not None and not (about.features and head == about.head):
        _check_head(head, about, weights, str(folder))
        about = replace(about, head=head)
    pooler = "bert.pooler.dense.weight" in weights.tensors or (about.head in POOLED_HEADS and not about.features)
    config = replace(BertConfig.from_published(published), pooler=pooler)
    model, report = _fill(config, about, weights)
    if tokenizer.size > config.vocabulary_size:
        raise InputError(f"{home} with {tokenizer.size} pieces", wanted=f"at most vocab_size, {config.vocabulary_size}")
    return ModelFolder(config, _on_device(model, device), tokenizer, about, report, base)


def save_model(
    folder: Path,
    config: BertConfig,
    model: BertWithHead | Bert,
    tokenizer: Tokenizer,
    about: About,
    *,
    dtype: str = "float32",  # float16 halves the file, int8 for matrices halves it again; all are opened in float32
    base: Path | str | None = None,  # a model on this machine: what it has in the very same values is not stored again
    base_rows: int | None = None,  # word embeddings that may differ from the base's; the others become the base's
) -> None:
    """Saves a folder, all of it or nothing; in an existing one, files that are no part of a model stay."""
    shared = None if base is None else _base_for(folder, base)
    about = replace(about, base={} if shared is None else shared.told(tokenizer))
    published = _stored(model, config, about, dtype, base=shared, base_rows=base_rows)
    classifier = published.get(_classifier(about))
    fields = config.to_published() | published_fields(about, 0 if classifier is None else len(classifier))
    fields["pad_token_id"] = tokenizer.pad_id
    texts = {
        "config.json": json.dumps(fields, indent=2, ensure_ascii=False) + "\n",
        "unmask.json": about.to_json(),
    }
    card = folder / "README.md"
    if not card.exists() or is_card(card.read_text(encoding="utf-8", errors="replace")):
        parameters = count_parameters(model)
        texts["README.md"] = write_card(name_of(folder), config, about, parameters, in_int8=dtype == "int8")
    if about.head == "embedding":
        texts |= sentence_modules(about, config.width, config.positions)
    with whole_folder(folder) as temporary:
        if "vocabulary" not in about.base:
            tokenizer.save(temporary)
        for name, text in texts.items():
            (temporary / name).parent.mkdir(exist_ok=True)
            (temporary / name).write_text(text, encoding="utf-8")
        save_file(published, temporary / "model.safetensors", metadata={"format": "pt"})
        # safetensors lets nobody else read it; the other files say what this user wants others to read
        (temporary / "model.safetensors").chmod((temporary / "config.json").stat().st_mode)
    if about.head != "embedding":  # of an embedding model that stood here before
        (folder / "modules.json").unlink(missing_ok=True)
    for name in TOKENIZER_FILES if "vocabulary" in about.base else ():  # of a model that was whole
        (folder / name).unlink(missing_ok=True)


def save_google(
    folder: Path, config: BertConfig, model: BertWithHead | Bert, tokenizer: Tokenizer, about: About
) -> None:
    """Saves the model as Google published BERT: `bert_config.json`, `bert_model.ckpt.*` and `vocab.txt`."""
    if about.head in ("tokens", "tags_crf", "choice"):
        raise InputError(f"a model with {HEAD_WORDS[about.head]}", wanted="a head that Google's code has a name for")
    arrays = {}
    for name, tensor in _stored(model, config, about, "float32", prefixed=True).items():
        google, transposed = to_google(name)
        arrays[google] = (tensor.T if transposed else tensor).numpy()
    with whole_folder(folder) as temporary:
        (temporary / "bert_config.json").write_text(
            json.dumps(config.to_published(), indent=2) + "\n", encoding="utf-8"
        )
        tokenizer.save(temporary)
        write_checkpoint(temporary / "bert_model.ckpt", arrays)


def count_parameters(model: BertWithHead | Bert) -> int:
    """How many numbers a model holds, its head included.

    >>> count_parameters(Bert(BertConfig(vocabulary_size=6, width=8, layers=0, heads=1, positions=12, pooler=False)))
    176
    """
    return sum(parameter.numel() for parameter in model.parameters())


def _base_for(folder: Path, base: Path | str) -> Base:
    found = find_base(base)
    if found.folder.resolve() == folder.resolve():
        raise InputError(f"{folder} as its own base", do="save to another folder")
    return found


def _home(path: Path) -> Path:
    """Where configuration and tokenizer are: the folder, or as old sentence-transformers had it, a folder within."""
    within = path / transformer_path(path) if path.is_dir() else path.parent
    return within if within.is_dir() else path


def _on_device(model: BertWithHead | Bert, device: str) -> BertWithHead | Bert:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:  # torch's words: not such a device, or not built for it
        first_line = str(error).splitlines()[0]
        raise InputError(
            f"device {device!r} ({first_line})", wanted="cpu, or a device that this machine has"
        ) from error


def _read_config(folder: Path) -> dict[str, Any]:
    path = next((folder / name for name in CONFIGS if (folder / name).is_file()), None)
    if path is None:
        raise InputError(f"{folder}, which is no model folder", wanted=" or ".join(CONFIGS) + " in it")
    published = read_object(path)
    kind = published.get("model_type", "bert")  # configurations of 2018 have no such field
    if kind != "bert":
        raise InputError(f"{path} of model_type {kind!r}", wanted="bert")
    for field, usual in {
        "position_embedding_type": "absolute",
        "add_cross_attention": False,
    }.items():
        if published.get(field, usual) != usual:
            raise InputError(f"{path} with {field} {published[field]!r}", wanted=f"{usual!r}, as BERT has it")
    return published


def _check_head(head: str, about: About, weights: Weights, name: str) -> None:
    """Refuses a head that the folder has no trained weights for."""
    if head not in HEAD_NAMES:
        raise InputError(f"head {head!r}", wanted=", ".join(HEAD_NAMES))
    trained = all(theirs in weights.tensors for theirs in HEAD_NAMES[head].values())
    same_classifier = "classifier.weight" not in HEAD_NAMES[head].values() or head == about.head
    if not trained or not same_classifier:
        raise InputError(f"model {name}, which has no {HEAD_WORDS[head]}", wanted="a model trained with it")


def _fill(config: BertConfig, about: About, weights: Weights) -> tuple[BertWithHead | Bert, LoadReport]:
    """A model whose parameters are the stored tensors: nothing is initialised in vain."""
    classifier = weights.tensors.get(_classifier(about))
    outputs = len(about.labels) or (2 if classifier is None else len(classifier))
    model = _empty(config, about, outputs)
    shapes = {name: tensor.shape for name, tensor in _prefixed(model).items()}
    names = published_names(config, about.head, _feature_names(model, about))
    state, report = to_ours(weights.tensors, shapes, names, str(weights.source))
    if about.head is None:
        state = {name.removeprefix("bert."): tensor for name, tensor in state.items()}
    model.load_state_dict({name: aligned(tensor) for name, tensor in state.items()}, assign=True)
    return model.eval(), replace(report, unused=(*report.unused, *weights.foreign))


def aligned(tensor: Tensor) -> Tensor:
    """The tensor where memory of torch's own begins, copied there if it lies elsewhere, as in a mapped file.

    On some CPUs products round otherwise for numbers that do not, and a model would not answer as before it was saved.
    """
    return tensor if tensor.data_ptr() % ALIGNMENT == 0 else tensor.clone()


def _empty(config: BertConfig, about: About, outputs: int) -> BertWithHead | Bert:
    """A model of shapes alone, without memory."""
    with torch.device("meta"), _NoInitialValues():
        bert = Bert(config)
        if about.head is None:
            return bert
        if about.features:
            return BertWithHead(bert, make_feature_head(about.head, config, about.features, outputs=outputs))
        return BertWithHead(bert, make_head(about.head, config, outputs=outputs, pooling=about.pooling))


def _classifier(about: About) -> str:
    """The tensor that is as long as the head has outputs."""
    return "features.classifier.bias" if about.features else "classifier.bias"


def _feature_names(model: BertWithHead | Bert, about: About) -> list[str]:
    return list(model.head.state_dict()) if about.features and isinstance(model, BertWithHead) else []


class _NoInitialValues(TorchFunctionMode):
    """Leaves out `torch.nn.init`: without memory it has nothing to fill, yet would import torch's compiler for that."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return None if getattr(func, "__module__", "") == "torch.nn.init" else func(*args, **kwargs or {})


def _prefixed(model: BertWithHead | Bert) -> dict[str, Tensor]:
    state = model.state_dict()
    return state if isinstance(model, BertWithHead) else {f"bert.{name}": tensor for name, tensor in state.items()}


def _stored(
    model: BertWithHead | Bert,
    config: BertConfig,
    about: About,
    dtype: str,
    *,
    prefixed: bool = False,
    base: Base | None = None,
    base_rows: int | None = None,
) -> dict[str, Tensor]:
    """The tensors as they are stored: published names, which leave out `bert.` where no head stands on the encoder."""
    published = to_published(_prefixed(model), config, about.head, _feature_names(model, about))
    if base is not None:
        published = own_tensors(published, about, base, base_rows, in_int8=dtype == "int8")
    elif dtype == "int8":
        published = stored_in_int8(published)
    bare = about.head in (None, "embedding") and not prefixed
    stored = {}
    for name, tensor in published.items():
        kept = tensor.to(DTYPES[dtype]) if tensor.is_floating_point() else tensor  # rows and steps stay integers
        stored[name.removeprefix("bert.") if bare else name] = kept.cpu().contiguous()
    return stored
