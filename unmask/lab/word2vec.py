"""word2vec (Mikolov et al., 2013) by gensim on the text of an experiment: skip-grams of pieces, for a time or a length.

gensim wants to know beforehand how often it will read the text, so its speed is measured on a part of it first.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.data.pairs import Text
from unmask.data.ragged import Integers
from unmask.lab.workbench import Workbench
from unmask.model.config import BertConfig
from unmask.model.static_encoder import save_static

TRIED = 20_000  # tokens that the speed is measured on
STEP_TOKENS = 2048  # of a pretraining's step, where steps are asked for in place of a time
SKIP_GRAMS = {"sg": 1, "window": 5, "negative": 5, "min_count": 1, "workers": 1}


@dataclass(frozen=True)
class Sentences:
    """Documents as gensim reads them: sentences of words, a piece's number being its word; any number of times."""

    text: Text
    documents: Integers

    def __iter__(self) -> Iterator[list[str]]:
        for document in self.documents:
            first, end = self.text.document_sentences[document : document + 2]
            borders = self.text.sentence_tokens[first : end + 1]
            for start, stop in pairwise(borders):
                yield list(map(str, self.text.tokens(int(start), int(stop)).tolist()))

    @property
    def tokens(self) -> int:
        """How many words there are."""
        borders = self.text.sentence_tokens[self.text.document_sentences]
        return int((borders[self.documents + 1] - borders[self.documents]).sum())

    def about(self, tokens: float) -> "Sentences":
        """Evenly spaced documents with about so many words; all of them where there are no more."""
        every = max(1, -(-self.tokens // max(1, int(tokens))))
        return Sentences(self.text, self.documents[::every])


@dataclass(frozen=True)
class Trained:
    """What gensim did."""

    loss: None
    seconds: float
    steps: int  # times that the text was read
    tokens: int


def train_word2vec(bench: Workbench, folder: Path) -> Trained:
    """Trains and saves the vectors as a model folder; an interrupted training begins anew."""
    started = time.monotonic()
    corpus, width = bench.corpus, BertConfig.named(bench.asked.size).width
    sentences = Sentences(corpus.store, corpus.training)
    if bench.share is None:
        wanted = float((bench.asked.steps or 0) * (bench.asked.batch_tokens or STEP_TOKENS))
    else:
        wanted = bench.share * tokens_a_second(sentences.about(TRIED), width)
    read, epochs = sentences.about(wanted), max(1, round(wanted / sentences.tokens))
    with bench.show("training word2vec") as told:
        model = learn(read, width, epochs, bench.asked.seed, lambda done: _tell(told, done, epochs, bench.stop))
    save_static(folder, vectors_of(model, corpus.tokenizer.size, width), corpus.tokenizer, "word2vec")
    return Trained(None, time.monotonic() - started, epochs, epochs * read.tokens)


def _tell(told: Any, done: int, epochs: int, stop: Callable[[], bool]) -> None:
    told(done, epochs, {})
    if stop():
        raise KeyboardInterrupt


def learn(
    sentences: Sentences, width: int, epochs: int, seed: int, after: Callable[[int], None] = lambda _: None
) -> Any:
    """gensim's model; `after` is told of every epoch."""
    from gensim.models import Word2Vec
    from gensim.models.callbacks import CallbackAny2Vec

    class Told(CallbackAny2Vec):  # type: ignore[misc]
        done = 0

        def on_epoch_end(self, _: Any) -> None:
            self.done += 1
            after(self.done)

    return Word2Vec(sentences, vector_size=width, epochs=epochs, seed=seed, callbacks=[Told()], **SKIP_GRAMS)


def tokens_a_second(sentences: Sentences, width: int) -> float:
    """How fast gensim reads here."""
    started = time.monotonic()
    learn(sentences, width, 1, 0)
    return sentences.tokens / max(time.monotonic() - started, 1e-3)


def vectors_of(model: Any, size: int, width: int) -> NDArray[np.float32]:
    """A vector for each piece; zeros for those that the text does not have."""  # (V, D)
    vectors = np.zeros((size, width), dtype=np.float32)
    vectors[[int(word) for word in model.wv.index_to_key]] = model.wv.vectors
    return vectors
