"""BERT beside its ancestors: word2vec, GloVe, ELMo and GPT on the same text, vocabulary, width and time.

All are read alike: frozen, by a BiLSTM over a weighted sum of what they say of each piece (static vectors say one
thing). GPT and BERT are fine-tuned too. Where people's judgements of words are given, all are held against them.
"""

import json
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn

from unmask.errors import InputError
from unmask.files import write_text
from unmask.lab.elmo_training import train_elmo
from unmask.lab.experiment import Asked, Number, Row
from unmask.lab.frozen_reading import read_frozen
from unmask.lab.glove_training import train_glove
from unmask.lab.similarity import read_similarity, similarity
from unmask.lab.word2vec import train_word2vec
from unmask.lab.workbench import Trained, Tuned, Workbench, score_of, tuned_settings
from unmask.model.elmo import open_elmo
from unmask.model.folder import open_model
from unmask.model.static_encoder import save_static

COLUMNS = ("feature_score", "score", "similarity")
ANCESTORS = ("word2vec", "GloVe", "ELMo", "GPT", "BERT")
STATIC: dict[str, Callable[[Workbench, Path], Any]] = {"word2vec": train_word2vec, "GloVe": train_glove}
TRANSFORMERS = {"GPT": "clm", "BERT": "mlm+nsp"}
LAYERS = "weighted-with-embeddings"  # of those that have layers


def check(asked: Asked) -> None:
    """Refuses to compare by nothing, or without gensim."""
    if not asked.train and asked.similarity is None:
        do = "name a labelled file with --train, or word pairs with --similarity"
        raise InputError("ancestors with nothing to compare them by", wanted="a task or word pairs", do=do)
    if find_spec("gensim") is None:
        raise ModuleNotFoundError("No module named 'gensim'", name="gensim")


def rows(bench: Workbench) -> dict[str, Callable[[], Row]]:
    """How each row is made."""
    makers: dict[str, Callable[[Workbench, str], Row]] = dict.fromkeys(STATIC, _static)
    makers |= {"ELMo": _elmo} | dict.fromkeys(TRANSFORMERS, _transformer)
    return {name: partial(makers[name], bench, name) for name in ANCESTORS}


def _static(bench: Workbench, name: str) -> Row:
    trained = _remembered(bench, name, STATIC[name])
    read = bench.tune(f"{name}-features", trained.folder, features="embeddings", reader="bilstm")
    return _row(bench, name, trained, open_model(trained.folder).bert, read)


def _elmo(bench: Workbench, name: str) -> Row:
    trained = _remembered(bench, name, train_elmo)
    elmo, read = open_elmo(trained.folder), None
    if bench.is_labelled:
        alike = bench.asked.folder / "pretrained" / "ELMo-vocabulary"
        save_static(alike, elmo.words.weight.detach().numpy(), bench.corpus.tokenizer, "ELMo's embeddings")
        read = read_frozen(bench, f"{name}-features", elmo, alike, LAYERS, "bilstm")
    return _row(bench, name, trained, elmo, read)


def _transformer(bench: Workbench, name: str) -> Row:
    # without the counted start, which would give them word2vec's knowledge on the way
    trained = bench.pretrain(name, objective=TRANSFORMERS[name], counted_start=False)
    read = bench.tune(f"{name}-features", trained.folder, features=LAYERS, reader="bilstm")
    tuned = bench.tune(name, trained.folder)
    return _row(bench, name, trained, open_model(trained.folder).bert, read, tuned)


def _row(
    bench: Workbench, name: str, trained: Trained, encoder: nn.Module, read: Tuned | None, tuned: Tuned | None = None
) -> Row:
    likeness: Number = None
    if bench.asked.similarity is not None:
        likeness = similarity(encoder.eval(), bench.corpus.tokenizer, read_similarity(bench.asked.similarity))
    figures = {"feature_score": score_of(read), "score": score_of(tuned), "similarity": likeness}
    return trained.row(name, figures, **tuned_settings(read))


def _remembered(bench: Workbench, name: str, train: Callable[[Workbench, Path], Any]) -> Trained:
    """A training that leaves no outcome of its own: what it reached is kept beside it."""
    folder = bench.asked.folder / "pretrained" / name
    path = folder / "training.json"
    if not path.exists():
        ended = train(bench, folder)
        cost = {"seconds": ended.seconds, "steps": ended.steps, "tokens": ended.tokens, "loss": ended.loss}
        write_text(path, json.dumps(cost) + "\n")
    kept = json.loads(path.read_text(encoding="utf-8"))
    settings = {"size": bench.asked.size, "seed": bench.asked.seed, "loss": kept["loss"]}
    return Trained(folder, settings, {}, kept["seconds"], kept["steps"], kept["tokens"])
