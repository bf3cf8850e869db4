"""ELMo and GloVe learn: below what frequencies give, with every parameter, through the one loop, resumed exactly."""

from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.lab.elmo_training import BothSides, elmo_settings, train_elmo
from unmask.lab.glove_training import train_glove
from unmask.lab.word2vec import Sentences, learn, train_word2vec, vectors_of
from unmask.lab.workbench import Workbench
from unmask.model.elmo import Elmo, elmo_config, open_elmo
from unmask.model.folder import open_model
from unmask.tasks.pretraining import Batches, unigram_loss
from unmask.text.tokenizer import Tokenizer

from .small_experiment import small


@pytest.fixture(autouse=True)
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.model.config.SIZES", {"tiny": (2, 32, 2), "mini": (3, 32, 2)})


def bench_with(folder: Path, steps: int) -> Workbench:
    return Workbench(small("ancestors", folder, steps=steps))


def nearest(vectors: np.ndarray, tokenizer: Tokenizer, word: str, among: str) -> str:  # type: ignore[type-arg]
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    ids = {name: tokenizer.pieces.index(name) for name in [word, *among.split()]}
    return max(among.split(), key=lambda name: float(unit[ids[word]] @ unit[ids[name]]))


def test_elmo_learns_more_than_how_frequent_words_are(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, 150)
    ended = train_elmo(bench, tmp_path / "elmo")
    assert ended.loss < 0.5 * unigram_loss(bench.corpus.store, bench.corpus.tokenizer.size)
    assert ended.steps == 150


def test_every_weight_of_elmo_gets_a_gradient(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, 4)
    corpus, settings = bench.corpus, elmo_settings(bench)
    learner = BothSides(Elmo(elmo_config(vocabulary_size=corpus.tokenizer.size, width=32)))
    batch = Batches(corpus.store, corpus.training, corpus.tokenizer, settings).parts(0, 32)[0].batch
    losses, _ = learner(batch, None)
    losses["clm"].backward()
    for name, parameter in learner.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_elmo_begins_at_the_logarithm_of_the_vocabulary(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, 4)
    corpus, settings = bench.corpus, elmo_settings(bench)
    learner = BothSides(Elmo(elmo_config(vocabulary_size=corpus.tokenizer.size, width=32)))
    part = Batches(corpus.store, corpus.training, corpus.tokenizer, settings).parts(0, 32)[0]
    losses, _ = learner(part.batch, None)
    assert losses["clm"].item() / part.counts["clm"] == pytest.approx(np.log(corpus.tokenizer.size), abs=0.1)


def test_an_interrupted_elmo_resumes_exactly(tmp_path: Path) -> None:
    whole = bench_with(tmp_path, 6)
    train_elmo(whole, tmp_path / "whole")
    counted = iter(range(3))
    stopped = Workbench(whole.asked, stop=lambda: next(counted, None) is None)
    with pytest.raises(KeyboardInterrupt):
        train_elmo(stopped, tmp_path / "again")
    train_elmo(whole, tmp_path / "again")
    for one, other in zip(*(open_elmo(tmp_path / name).parameters() for name in ("whole", "again")), strict=True):
        assert torch.equal(one, other)


def test_glove_on_text_puts_words_together_that_stand_together(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, 300)
    train_glove(bench, tmp_path / "glove")
    opened = open_model(tmp_path / "glove")
    vectors = opened.bert.embeddings.words.weight.detach().numpy()
    assert nearest(vectors, opened.tokenizer, "every", "morning barn evening") == "morning"


def test_word2vec_reads_sentences_of_the_documents_it_is_given(tmp_path: Path) -> None:
    corpus, read = bench_with(tmp_path, 4).corpus, list[int]()
    sentences = Sentences(corpus.store, np.array([0, 3]))
    assert corpus.tokenizer.decode(map(int, next(iter(sentences)))).startswith("the cat lives")
    vectors = vectors_of(learn(sentences, 8, 0, lambda: len(read) / 2, read), corpus.tokenizer.size, 8)
    seen = {int(word) for sentence in sentences for word in sentence}
    assert set(np.flatnonzero(np.abs(vectors).sum(1))) == seen
    assert len(read) == 2


def test_word2vec_keeps_to_its_time(tmp_path: Path) -> None:
    bench = Workbench(small("ancestors", tmp_path, steps=None, budget=5.0), 1.0)
    trained = train_word2vec(bench, tmp_path / "word2vec")
    assert 1.0 <= trained.seconds < 4.0
    assert trained.tokens > 20_000
