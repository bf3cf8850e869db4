"""The text of a pretraining run: a vocabulary given or learned, the token store opened or prepared, documents held out.

In: text files, or a store. Out: a `Corpus` to draw batches from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmask.data.chance import uniform
from unmask.data.prepare import prepare
from unmask.data.ragged import Integers
from unmask.data.store import DESCRIPTION, Store
from unmask.data.word_marks import Words, open_words
from unmask.errors import InputError
from unmask.text.documents import find_files, read_texts
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import has_capitals, read_vocabulary, write_vocabulary

HELD_OUT_CHANCE = 0x48454C44  # not a run's seed: all runs on a corpus hold the same documents out
FEWEST_HELD_OUT = 4  # documents; fewer say nothing

OnProgress = Callable[[float, float], None]


@dataclass(frozen=True)
class Corpus:
    """Tokenised text, divided into documents to learn from and documents to measure on."""

    store: Store
    tokenizer: Tokenizer
    training: Integers
    held_out: Integers
    words: Words | None = None  # where words begin; without it, where pieces without ## stand


def open_corpus(
    paths: Sequence[Path],
    folder: Path,
    tokenizer: Callable[[Sequence[Path]], Tokenizer],
    *,
    held_out: float = 0.0,
    words: str | None = None,
    column: str | None = None,
    on_progress: OnProgress | None = None,
) -> Corpus:
    """A store as it is, or one prepared from text in `folder`, with a share of its documents held out."""
    if len(paths) == 1 and (paths[0] / DESCRIPTION).is_file():
        store = Store.open(paths[0])
    else:
        prepare(paths, folder, tokenizer(paths), column=column, on_progress=on_progress)
        store = Store.open(folder)
    training, kept = hold_out(store.document_count, held_out)
    marks = open_words(store, words, on_progress) if words else None
    return Corpus(store, store.tokenizer(), training, kept, marks)


def hold_out(documents: int, share: float) -> tuple[Integers, Integers]:
    """Divides documents by chance into those to learn from and those to measure on; too few to measure on is none.

    >>> [len(part) for part in hold_out(1000, 0.02)]
    [981, 19]
    """
    chosen = uniform(HELD_OUT_CHANCE, np.arange(documents)) < share
    if chosen.sum() < FEWEST_HELD_OUT:
        chosen[:] = False
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def find_tokenizer(
    paths: Sequence[Path],
    *,
    vocabulary: Path | None,
    size: int | None,
    cased: bool,
    learned: Path,
    column: str | None = None,
) -> Tokenizer:
    """The tokenizer of a vocabulary file or model folder; without one, of a vocabulary learned from the text."""
    if vocabulary is not None and vocabulary.is_dir():
        return Tokenizer.load(vocabulary)
    if vocabulary is None:
        vocabulary = learned
        if not learned.exists():
            size = size or vocabulary_size_for(sum(file.stat().st_size for file in find_files(paths)))
            write_vocabulary(learned, learn_vocabulary(read_texts(paths, column=column), size=size, cased=cased))
    elif not vocabulary.is_file():
        raise InputError(f"vocabulary {vocabulary}", wanted="a vocab.txt or a model folder", do="check --vocab")
    pieces = read_vocabulary(vocabulary)
    return Tokenizer(pieces, cased=cased or has_capitals(pieces))


def vocabulary_size_for(corpus_bytes: int) -> int:
    """A vocabulary that a corpus of this size can teach: every piece should be met some hundreds of times.

    >>> vocabulary_size_for(5_000_000), vocabulary_size_for(3_000_000_000)
    (4000, 30522)
    """
    return next((size for limit, size in VOCABULARY_SIZES if corpus_bytes < limit), 30_522)


VOCABULARY_SIZES = ((10_000_000, 4_000), (50_000_000, 8_000), (200_000_000, 16_000))
