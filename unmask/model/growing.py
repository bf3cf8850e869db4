"""A vocabulary that grows: a model, its tokenizer and new words come in; the same with a piece for each word go out.

A new piece starts as the mean of the pieces that its word was made of, in the word embeddings and in the output bias.
WordPiece takes the longest piece from the left, so a word that begins with an added one is cut anew as well; every
other text is encoded, and understood, exactly as before.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn

from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, masked_words_in
from unmask.text.tokenizer import Tokenizer
from unmask.text.words import word_splitter

Model = TypeVar("Model", bound=Bert | BertWithHead)


def grow(model: Model, tokenizer: Tokenizer, additions: Sequence[str]) -> tuple[Model, Tokenizer]:
    """A model and a tokenizer with a piece more for each word; those given are left as they are.

    >>> from unmask.model.config import BertConfig
    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##mask", "##ed"])
    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=tokenizer.size))
    >>> grown, larger = grow(bert, tokenizer, ["unmask"])
    >>> larger.encode("unmasked").pieces
    ('[CLS]', 'unmask', '##ed', '[SEP]')
    >>> rows = grown.embeddings.words.weight
    >>> bool((rows[8] == (rows[5] + rows[6]) / 2).all())
    True
    """
    words = new_words(tokenizer, additions)
    former = [list(tokenizer.encode(word).ids[1:-1]) for word in words]
    grown = deepcopy(model)
    bert = grown.bert if isinstance(grown, BertWithHead) else grown
    rows = _with_means(bert.embeddings.words.weight, former, tokenizer.size)
    bert.embeddings.words = nn.Embedding.from_pretrained(rows, freeze=False)
    bert.config = replace(bert.config, vocabulary_size=len(rows))
    head = grown.head if isinstance(grown, BertWithHead) else None
    output = masked_words_in(head)
    if output is not None:
        output.bias = nn.Parameter(_with_means(output.bias, former, tokenizer.size))
    return grown, larger_tokenizer(tokenizer, words)


def larger_tokenizer(tokenizer: Tokenizer, words: Sequence[str]) -> Tokenizer:
    """The same tokenizer with further pieces at the end of its vocabulary."""
    return Tokenizer(
        [*tokenizer.pieces, *words],
        cased=tokenizer.cased,
        strip_accents=tokenizer.strip_accents,
        split_chinese=tokenizer.split_chinese,
        max_word_length=tokenizer.max_word_length,
        added=tokenizer.added,
    )


def new_words(tokenizer: Tokenizer, additions: Sequence[str]) -> list[str]:
    """The additions as the tokenizer writes them, each once, without those that it has; each must be one whole word.

    >>> tokenizer = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##mask"])
    >>> new_words(tokenizer, ["Unmask", "un", "unmask"])
    ['unmask']
    """
    split = word_splitter(
        cased=tokenizer.cased, strip_accents=tokenizer.strip_accents, split_chinese=tokenizer.split_chinese
    )
    written = [split(addition) for addition in additions]
    for addition, words in zip(additions, written, strict=True):
        if len(words) != 1:
            do = "add the words that it consists of, or learn a new vocabulary"
            raise InputError(f"{addition!r} to add, {len(words)} words to this tokenizer", wanted="whole words", do=do)
    known = set(tokenizer.pieces)
    return [word for word in dict.fromkeys(words[0] for words in written) if word not in known]


def _with_means(rows: Tensor, former: Sequence[Sequence[int]], size: int) -> Tensor:
    """Rows of the vocabulary and behind them the mean of each group; rows beyond the vocabulary make room.

    Some models round the number of rows up: such spare rows are taken first.
    """
    means = [rows[list(ids)].mean(0) for ids in former]
    spare = rows[size + len(means) :]
    return torch.cat([rows[:size], *(mean[None] for mean in means), spare]).detach().clone()
