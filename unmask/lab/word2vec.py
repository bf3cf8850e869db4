"""word2vec (Mikolov et al., 2013) by gensim on the text of an experiment: skip-grams of pieces, for a time or a length.

gensim lowers its learning rate by how much of the text it has read. Here it is given a part of the text at a time, with
the rate that belongs to the time, or length, that has passed.
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

PART = 20_000  # tokens at a time
STEP_TOKENS = 2048  # of a pretraining's step, where steps are asked for in place of a time
FIRST_RATE, LAST_RATE = 0.025, 0.0001  # gensim's own
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

    def parts(self, tokens: int) -> Iterator["list[list[str]]"]:
        """Sentences by about so many words, again and again."""
        part, held = list[list[str]](), 0
        while True:
            for sentence in self:
                part.append(sentence)
                held += len(sentence)
                if held >= tokens:
                    yield part
                    part, held = [], 0


@dataclass(frozen=True)
class Trained:
    """What gensim did."""

    loss: None
    seconds: float
    steps: int  # parts of the text that were read
    tokens: int


def train_word2vec(bench: Workbench, folder: Path) -> Trained:
    """Trains and saves the vectors as a model folder; an interrupted training begins anew."""
    corpus, width = bench.corpus, BertConfig.named(bench.asked.size).width
    started = time.monotonic()  # the text is tokenised for all rows
    wanted = (bench.asked.steps or 0) * (bench.asked.batch_tokens or STEP_TOKENS)
    read: list[int] = []  # words of each part

    with bench.show("training word2vec") as told:

        def share() -> float:
            if bench.stop():
                raise KeyboardInterrupt
            done = sum(read) / wanted if bench.share is None else (time.monotonic() - started) / bench.share
            told(round(100 * done), 100, {"words": f"{sum(read):,}"})
            return done

        sentences = Sentences(corpus.store, corpus.training)
        model = learn(sentences, width, bench.asked.seed, share, read, part=min(PART, wanted or PART))
    save_static(folder, vectors_of(model, corpus.tokenizer.size, width), corpus.tokenizer, "word2vec")
    return Trained(None, time.monotonic() - started, len(read), sum(read))


def learn(
    sentences: Sentences, width: int, seed: int, share: Callable[[], float], read: list[int], *, part: int = PART
) -> Any:
    """gensim's model after as many parts as it takes until `share` is one; `read` gets the words of each."""
    from gensim.models import Word2Vec

    model = Word2Vec(vector_size=width, seed=seed, **SKIP_GRAMS)
    model.build_vocab(sentences)
    parts = sentences.parts(part)
    while (done := share()) < 1:
        taken, rate = next(parts), max(LAST_RATE, FIRST_RATE * (1 - done))
        model.train(taken, total_examples=len(taken), epochs=1, start_alpha=rate, end_alpha=rate)
        read.append(sum(map(len, taken)))
    return model


def vectors_of(model: Any, size: int, width: int) -> NDArray[np.float32]:
    """A vector for each piece; zeros for those that the text does not have."""  # (V, D)
    vectors = np.zeros((size, width), dtype=np.float32)
    vectors[[int(word) for word in model.wv.index_to_key]] = model.wv.vectors
    return vectors
