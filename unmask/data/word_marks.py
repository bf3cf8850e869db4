"""Where words begin in a store, Chinese words included: one bit a token, found once and kept in the store's folder.

In: a store and a segmenter. Out: a function of a token range, as drawing whole words to mask asks for.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unmask.data.store import Store
from unmask.errors import InputError
from unmask.files import atomic_path
from unmask.text.segment import Segmenter, segmenter, word_starts

Words = Callable[[int, int], NDArray[np.bool_]]  # (start, stop) of tokens -> where a word begins among them
BLOCK_TOKENS = 1 << 16  # segmented at a time


def open_words(store: Store, name: str, on_progress: Callable[[float, float], None] | None = None) -> Words:
    """Opens the marks of a segmenter, which are made where they are not there yet."""
    path = store.folder / f"words-{name}.bits"
    if not path.exists():
        mark_words(store, path, segmenter(name), on_progress)
    if path.stat().st_size != -(-store.token_count // 8):
        raise InputError(f"{path} of another length than its store", do="remove it, and it is made again")
    bits = np.memmap(path, np.uint8, "r")

    def words(start: int, stop: int) -> NDArray[np.bool_]:
        flags = np.unpackbits(bits[start // 8 : -(-stop // 8)], bitorder="little")
        return flags[start % 8 : start % 8 + stop - start].view(np.bool_)

    return words


def mark_words(
    store: Store, path: Path, segment: Segmenter, on_progress: Callable[[float, float], None] | None = None
) -> None:
    """Segments all sentences of a store and writes a bit a token: 1 where a word begins."""
    tokenizer = store.tokenizer()
    flags = np.zeros(store.token_count, dtype=np.bool_)
    for first, last in _blocks(store.sentence_tokens):
        borders = np.asarray(store.sentence_tokens[first : last + 1])
        start, stop = int(borders[0]), int(borders[-1])
        between = borders[1:-1] - start
        ids = np.insert(np.asarray(store.tokens(start, stop)), between, tokenizer.sep_id)  # no word crosses a border
        found = word_starts(ids, tokenizer.pieces, segment)
        flags[start:stop] = np.delete(found, between + np.arange(len(between)))
        if on_progress:
            on_progress(stop, store.token_count)
    with atomic_path(path) as temporary:
        np.packbits(flags, bitorder="little").tofile(temporary)


def _blocks(sentence_tokens: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Sentences in runs of about BLOCK_TOKENS tokens: first and last + 1."""
    first, sentences = 0, len(sentence_tokens) - 1
    while first < sentences:
        last = int(np.searchsorted(sentence_tokens, sentence_tokens[first] + BLOCK_TOKENS, side="right")) - 1
        last = min(max(last, first + 1), sentences)
        yield first, last
        first = last
