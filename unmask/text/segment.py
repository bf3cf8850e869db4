"""Where words begin among pieces, Chinese words included: what masking a whole word needs to know.

Piece ids come in, one bool a piece goes out: True where a word begins. A piece with ## goes on with a word; a Chinese
character goes on with one if a segmenter says so. Segmenting is slow beside drawing examples (with jieba some 0.2
million characters a second), so it is done once, when a text is prepared, and the answer is kept with the ids.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.text.tokenizer import is_chinese

Segmenter = Callable[[str], list[str]]  # words whose concatenation is the text


def segmenter(name: str = "jieba") -> Segmenter:
    """A function that cuts Chinese text into words, by name.

    >>> segmenter("jieba")("我们喜欢自然语言")
    ['我们', '喜欢', '自然语言']
    """
    if name not in SEGMENTERS:
        raise InputError(f"segmenter {name!r}", wanted=" or ".join(SEGMENTERS))
    return SEGMENTERS[name]()


def word_starts(ids: NDArray[np.integer], pieces: Sequence[str], segment: Segmenter) -> NDArray[np.bool_]:
    """True where a piece begins a word; call it on whole sentences, so that no word is cut.

    >>> pieces = ["我", "们", "爱", "bert", "##s", "。"]
    >>> word_starts(np.array([0, 1, 2, 3, 4, 5]), pieces, lambda text: ["我们", "爱", " ", " ", " "])
    array([ True, False,  True,  True, False,  True])
    """
    characters, starts = _tables(tuple(pieces))
    words = segment("".join(characters[ids].tolist()))  # one character a piece
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    assert lengths.sum() == len(ids), "a segmenter must give back the whole text"
    segmented = np.zeros(len(ids), dtype=np.bool_)
    segmented[np.cumsum(lengths) - lengths] = True
    begins: NDArray[np.bool_] = starts[ids] & (segmented | (characters[ids] == " "))
    return begins


@lru_cache(maxsize=4)
def _tables(pieces: tuple[str, ...]) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
    """For each piece its Chinese character or a blank, and whether it can begin a word."""
    characters = np.array([piece if len(piece) == 1 and is_chinese(piece) else " " for piece in pieces], dtype="U1")
    return characters, np.array([not piece.startswith("##") for piece in pieces])


@lru_cache(maxsize=1)
def _jieba() -> Segmenter:
    """jieba; its dictionary is read here, so that it neither speaks nor leaves or trusts a file among the temporary."""
    try:
        with warnings.catch_warnings():  # it imports pkg_resources, which warns of its own end
            warnings.simplefilter("ignore")
            import jieba

            tokenizer = jieba.Tokenizer()
            tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    except ImportError:
        raise InputError(
            "words of Chinese without jieba", wanted="the extra zh", do="pip install 'unmask[zh]'"
        ) from None
    tokenizer.initialized = True
    cut: Segmenter = tokenizer.lcut
    return cut


SEGMENTERS: dict[str, Callable[[], Segmenter]] = {"jieba": _jieba}
