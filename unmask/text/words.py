"""How often each word occurs: text comes in, in blocks, and counts of the words that WordPiece would split go out.

Words are those of Google's rules, as the tokenizer has them. Memory follows the number of distinct words: a block is
first cut at blanks only, and just the distinct cuttings, far fewer than the text has words, are normalised and split.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from tokenizers import normalizers, pre_tokenizers

from unmask.errors import InputError
from unmask.text.characters import Rewriting
from unmask.text.tokenizer import CHINESE

MOST_CUTTINGS = 500_000  # distinct ones held before they are split into words: some 100 MB
CHINESE_RUN = re.compile(f"[{CHINESE}]+")
ASCII_WORD = re.compile("[A-Za-z0-9]+|[!-/:-@[-`{-~]")
REMOVED_BLANKS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"  # str.split cuts at these control characters; the rules remove them

Splitter = Callable[[str], list[str]]


def count_words(
    texts: Iterable[str], *, cased: bool = False, strip_accents: bool | None = None, split_chinese: bool = True
) -> Counter[str]:
    """Counts the words of blocks of text; a word is counted whole if no block ends inside it.

    >>> sorted(count_words(["Café au lait, ", "café 中文"]).items())
    [(',', 1), ('au', 1), ('cafe', 2), ('lait', 1), ('中', 1), ('文', 1)]
    """
    split = word_splitter(cased=cased, strip_accents=strip_accents, split_chinese=split_chinese)
    words: Counter[str] = Counter()
    cuttings: Counter[str] = Counter()
    for text in texts:
        _count_cuttings(text, cuttings, split_chinese)
        if len(cuttings) > MOST_CUTTINGS:
            _count_split(cuttings, words, split)
            cuttings.clear()
    _count_split(cuttings, words, split)
    return words


def word_splitter(*, cased: bool, strip_accents: bool | None, split_chinese: bool) -> Splitter:
    """The function that cuts a text into words.

    >>> word_splitter(cased=False, strip_accents=None, split_chinese=True)("Don't!")
    ['don', "'", 't', '!']
    """
    strip = not cased if strip_accents is None else strip_accents
    rewriting = Rewriting(cased=cased, strip_accents=strip, split_chinese=split_chinese)
    normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=split_chinese, strip_accents=strip, lowercase=not cased
    )
    splitter = pre_tokenizers.BertPreTokenizer()

    def split(text: str) -> list[str]:
        if text.isascii() and text.isprintable():  # nearly all of English: no Unicode rule applies
            return ASCII_WORD.findall(text if cased else text.lower())
        try:
            normalised = normalizer.normalize_str(rewriting.rewrite(text))
        except UnicodeEncodeError:
            got = f"half a character (a lone surrogate) in {text[:40]!r}"
            raise InputError(got, wanted="text that can be written as UTF-8") from None
        return [word for word, _ in splitter.pre_tokenize_str(normalised)]

    return split


def _count_cuttings(text: str, cuttings: Counter[str], split_chinese: bool) -> None:
    """Counts what stands between blanks, and each Chinese character by itself if they are words of their own."""
    if any(blank in text for blank in REMOVED_BLANKS):
        text = text.translate(dict.fromkeys(map(ord, REMOVED_BLANKS)))
    if split_chinese and not text.isascii():
        cuttings.update("".join(CHINESE_RUN.findall(text)))
        text = CHINESE_RUN.sub(" ", text)
    cuttings.update(text.split())


def _count_split(cuttings: Counter[str], words: Counter[str], split: Splitter) -> None:
    """Adds the words of each cutting, as often as the cutting occurs."""
    for cutting, count in cuttings.items():
        for word in split(cutting):
            words[word] += count
