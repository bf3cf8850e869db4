"""Where a pretraining run's weights start: fresh, with word embeddings from a file, or as those of another model.

In: what the user named. Out: a `Start`, which says what it is for the settings and sets the weights of a learner.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from unmask.data.store import DESCRIPTION
from unmask.errors import InputError
from unmask.files import sha256, write_text
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.counted_start import CountedStart
from unmask.model.deepening import deepen
from unmask.model.folder import open_model
from unmask.model.growing import grow, new_words
from unmask.model.heads import BertWithHead, MaskedWords, NextSentence, Pretraining
from unmask.model.other_pieces import under_other_pieces
from unmask.model.vectors import VectorCoverage, piece_vectors
from unmask.tasks.objectives import Learner
from unmask.text.coverage import suggest_additions
from unmask.text.documents import read_texts
from unmask.text.tokenizer import Tokenizer
from unmask.text.words import count_words

# Unless the user gives one. At the rates at which a fresh model learns, a trained one forgets: of three rates, general
# text lost least at this one (see the record of going on).
CONTINUED_LEARNING_RATE = 1e-4
NAMED_WORDS = 10  # of those added, in what is said of them


@dataclass(frozen=True)
class Start:
    """Where the weights start."""

    name: str = "fresh"  # in the settings: a hash of what the weights start from, so that a change is noticed
    source: str = ""  # the file or model as the user named it
    vectors: Path | None = None  # initial word embeddings
    model: Bert | BertWithHead | None = None  # the model to go on from, with its additions and its further layers
    tokenizer: Tokenizer | None = None  # of that model
    added: tuple[str, ...] = ()  # words that its vocabulary had no piece for
    other_pieces: bool = False  # the text is cut by another vocabulary, which the model is carried over to
    shallower: int | None = None  # the layers that it had, where it has got more
    learned: int = 0  # the tokens that it has learned from before, as far as its card tells

    def shape(self, fresh: BertConfig, longest: int) -> BertConfig:
        """The shape of the model that starts here; a fresh one's says what dropout, pooler and direction it has."""
        if self.model is None:
            return fresh
        own = _encoder(self.model).config
        if longest > own.positions:
            wanted = f"at most the {own.positions} positions of {self.source}"
            raise InputError(f"sequences of {longest} pieces", wanted=wanted, do="give a shorter --length")
        return replace(
            own,
            vocabulary_size=fresh.vocabulary_size if self.other_pieces else own.vocabulary_size,
            dropout=fresh.dropout,
            attention_dropout=fresh.attention_dropout,
            pooler=fresh.pooler,
            causal=fresh.causal,
        )

    @property
    def vocabulary(self) -> Tokenizer | None:
        """The tokenizer that the text must be cut by, if the start decides it."""
        return None if self.other_pieces else self.tokenizer

    def set_weights(
        self, learner: Learner, tokenizer: Tokenizer, seed: int, counted: CountedStart | None = None
    ) -> dict[str, Any]:
        """Sets a learner's weights and says how, for the user and the model's card; says nothing if they stay fresh.

        `counted` is what counting the text tells of pieces that a model has never met.
        """
        if self.vectors is not None:
            coverage = start_from_vectors(learner, tokenizer, self.vectors, seed)
            return {"vectors": self.vectors.name, **asdict(coverage), "share": round(coverage.share, 4)}
        if self.model is None:
            return {}
        name: dict[str, Any] = {"model": Path(self.source).name}
        if self.learned:
            name["tokens"] = self.learned
        if self.shallower is not None:
            name["layers"] = f"{_encoder(self.model).config.layers} in place of {self.shallower}"
        if not self.other_pieces:
            return {**name, **asdict(start_from_model(learner, self.model)), "added": len(self.added)}
        assert self.tokenizer is not None
        model, carried = under_other_pieces(self.model, self.tokenizer, tokenizer, counted, seed)
        return {**name, **asdict(start_from_model(learner, model)), "pieces": asdict(carried)}


FRESH = Start()


def find_start(
    paths: Sequence[Path],
    *,
    vectors: Path | None = None,
    model: str | None = None,
    additions: str | None = None,
    other_pieces: bool = False,
    layers: int | None = None,
    folder: Path,
    column: str | None = None,
) -> Start:
    """The start that a user asked for; words to add that were found in the text are kept in the run's folder."""
    if model is None and additions is not None:
        raise InputError(f"--add-pieces {additions} for a new model", wanted="--from MODEL, whose pieces to add to")
    if model is not None and vectors is not None:
        raise InputError("--init-vectors and --from", wanted="one start", do="give one of them")
    if model is None and layers is not None:
        do = "choose a new model's layers by --size"
        raise InputError(f"--layers {layers} for a new model", wanted="--from MODEL, which gets layers", do=do)
    if additions is not None and other_pieces:
        do = "put the words into the vocabulary"
        raise InputError("--add-pieces with another vocabulary", wanted="one of the two", do=do)
    if model is not None and Path(model).resolve() == folder.resolve():
        raise InputError(f"--from {model} and -o {folder}, the same", wanted="another folder for the run")
    if vectors is not None:
        if not vectors.is_file():
            raise InputError(f"no file {vectors}", wanted="word vectors as GloVe or word2vec has them")
        return Start(f"vectors {sha256(vectors)}", str(vectors), vectors)
    if model is None:
        return FRESH
    opened = open_model(model)
    words = [] if additions is None else _words_to_add(opened.tokenizer, additions, paths, folder, column)
    grown, tokenizer = grow(opened.model, opened.tokenizer, words)
    name, shallower = f"model {weights_hash(opened.model)}", None
    if layers is not None:
        grown, shallower = deepen(grown, layers), _encoder(grown).config.layers
    learned = tokens_learned(opened.about.provenance)
    return Start(name, model, None, grown, tokenizer, tuple(words), other_pieces, shallower, learned)


def tokens_learned(provenance: Mapping[str, Any]) -> int:
    """The tokens that a model has learned from in all its runs, as far as its card tells: a published one's may not.

    >>> tokens_learned({"tokens": 5, "tokens_in_all": 12}), tokens_learned({"tokens": 5}), tokens_learned({})
    (12, 5, 0)
    """
    told = provenance.get("tokens_in_all", provenance.get("tokens"))
    return told if isinstance(told, int) else 0  # a card may be edited by hand


def start_from_vectors(learner: Learner, tokenizer: Tokenizer, path: Path, seed: int) -> VectorCoverage:
    """Sets the word embeddings from a file of word vectors; gives how far it covers the vocabulary."""
    words = learner.model.bert.embeddings.words.weight  # (V, D)
    matrix, coverage = piece_vectors(tokenizer, path, words.shape[1], np.random.default_rng(seed))
    with torch.no_grad():
        words[: len(matrix)].copy_(torch.from_numpy(matrix))
    return coverage


@dataclass(frozen=True)
class Continued:
    """What became of the parts of a model that a learner went on from."""

    fresh: tuple[str, ...]  # that the objective needs and the model does not have
    left_out: tuple[str, ...]  # that the model has and the objective would not train


def start_from_model(learner: Learner, model: Bert | BertWithHead) -> Continued:
    """Copies every part that both have, from encoder to heads; the others stay fresh."""
    found, wanted = _parts(model), _parts(learner.model)
    for name in found.keys() & wanted.keys():
        wanted[name].load_state_dict(found[name].state_dict())
    fresh, left_out = (tuple(a for a in ours if a not in theirs) for ours, theirs in ((wanted, found), (found, wanted)))
    return Continued(fresh, left_out)


def _parts(model: Bert | BertWithHead) -> dict[str, nn.Module]:
    bert, head = _encoder(model), model.head if isinstance(model, BertWithHead) else None
    heads = [head.words, head.next] if isinstance(head, Pretraining) else [head]
    parts = {
        "embeddings": bert.embeddings,
        "layers": bert.get_submodule("layers"),
        "pooler": bert.pooler,
        "masked-word head": next((part for part in heads if isinstance(part, MaskedWords)), None),
        "next-sentence head": next((part for part in heads if isinstance(part, NextSentence)), None),
    }
    return {name: part for name, part in parts.items() if part is not None}


def _encoder(model: Bert | BertWithHead) -> Bert:
    return model.bert if isinstance(model, BertWithHead) else model


def weights_hash(model: nn.Module) -> str:
    """The SHA-256 of a model's weights by name, whatever form they were stored in."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().data)
    return digest.hexdigest()


def _words_to_add(
    tokenizer: Tokenizer, additions: str, paths: Sequence[Path], folder: Path, column: str | None
) -> list[str]:
    """The words of a file, or the given number of words that would save most pieces in the text."""
    file = Path(additions)
    if additions.isdecimal():
        file = folder / f"added-pieces-{additions}.txt"  # a later sitting need not count the text's words again
        if not file.exists():
            write_text(file, "".join(f"{word}\n" for word in _best_words(tokenizer, int(additions), paths, column)))
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--add-pieces {additions} ({error})", wanted="a text file or a number of pieces") from None
    return new_words(tokenizer, [line.strip() for line in lines if line.strip()])


def _best_words(tokenizer: Tokenizer, number: int, paths: Sequence[Path], column: str | None) -> list[str]:
    if any((path / DESCRIPTION).is_file() for path in paths):
        do = "give the text itself, or the words in a file"
        raise InputError("a store, whose words are cut already", wanted="text to find words to add in", do=do)
    words = count_words(
        read_texts(paths, column=column),
        cased=tokenizer.cased,
        strip_accents=tokenizer.strip_accents,
        split_chinese=tokenizer.split_chinese,
    )
    return [addition.word for addition in suggest_additions(tokenizer.pieces, words, top=number)]


def in_words(record: Mapping[str, Any], added: Sequence[str] = ()) -> list[str]:
    """What `set_weights` did, a line for each thing worth knowing.

    >>> in_words({"model": "bert", "fresh": ["pooler"], "left_out": []}, ["unmask"])
    ['going on from bert with 1 more piece: unmask', 'bert has no pooler: it starts fresh']
    """
    if "vectors" in record:
        return [
            f"{record['vectors']} covers {record['share']:.1%} of the pieces: {record['words']:,} as words, "
            f"{record['composed']:,} composed; {record['drawn']:,} drawn by chance"
        ]
    if "model" not in record:
        return []
    name, more = record["model"], "piece" if len(added) == 1 else "pieces"
    words = ", ".join(added[:NAMED_WORDS]) + " …" * (len(added) > NAMED_WORDS)
    lines = [f"going on from {name}" + (f" with {len(added):,} more {more}: {words}" if added else "")]
    if "pieces" in record:
        kept, composed, new = (record["pieces"][kind] for kind in ("kept", "composed", "new"))
        lines.append(
            f"its vocabulary is another: {kept:,} pieces keep their vectors, {composed:,} are composed, {new:,} new"
        )
    if "layers" in record:
        lines.append(f"it has {record['layers']} layers: the new ones add nothing until they have learned")
    lines += [f"{name} has no {part}: it starts fresh" for part in record["fresh"]]
    return lines + [
        f"the {part} of {name} is left out: this objective does not train it" for part in record["left_out"]
    ]
