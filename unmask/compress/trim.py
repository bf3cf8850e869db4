"""A vocabulary cut down to what a text needs, and its model with it: a model, its tokenizer and texts in, both out.

WordPiece takes the longest piece from the left, and the longest of all is the longest of those kept: a text whose
pieces all stay is encoded, and answered, exactly as before. Other words are cut into shorter pieces. Of a script that
the texts are written in, a piece goes only if the single characters that it is made of are pieces too, so words do not
become unknown for want of it; thousands of Chinese characters go from a model that is to read English.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import torch
from torch import nn

from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, masked_words_in
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

Model = TypeVar("Model", bound=Bert | BertWithHead)
BLOCK = 1024  # lines encoded at a time
SCARCE = 0.001  # share of all letters below which texts are not written in a script


def trim(model: Model, tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[Model, Tokenizer]:
    """A model and a tokenizer with the pieces that texts need; those given are left as they are.

    >>> from unmask.model.config import BertConfig
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "##n", "##d", "and", "an", "##nd"])
    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=tokenizer.size))
    >>> small, smaller = trim(bert, tokenizer, ["an ann"])
    >>> smaller.pieces[5:], smaller.encode("and").pieces
    (('a', '##n', '##d', 'an'), ('[CLS]', 'an', '##d', '[SEP]'))
    """
    kept = needed_pieces(tokenizer, texts)
    return keep_pieces(model, kept), smaller_tokenizer(tokenizer, kept)


def needed_pieces(tokenizer: Tokenizer, texts: Iterable[str]) -> list[int]:
    """The ids of the pieces that texts use, of special and added ones, and of those that nothing could stand in for."""
    used = count_pieces(tokenizer, texts)
    always = {*SPECIAL_PIECES, *(token.content for token in tokenizer.added)}
    known, scripts = frozenset(tokenizer.pieces), scripts_in(tokenizer, used)

    def is_needed(piece: str) -> bool:
        return piece in always or (scripts_of(piece) <= scripts and not is_spelled(piece, known))

    return [id for id, piece in enumerate(tokenizer.pieces) if id in used or is_needed(piece)]


def scripts_in(tokenizer: Tokenizer, used: Counter[int]) -> set[str]:
    """The scripts that texts are written in, by how often their pieces occur; a few foreign words do not count."""
    letters: Counter[str] = Counter()
    for id, count in used.items():
        letters.update({script: count * share for script, share in Counter(_scripts(tokenizer.pieces[id])).items()})
    return {script for script, count in letters.items() if count >= SCARCE * letters.total()}


def scripts_of(piece: str) -> set[str]:
    """The scripts of a piece's letters; figures and signs have none.

    >>> scripts_of("##ing"), scripts_of("好"), scripts_of("42%")
    ({'LATIN'}, {'CJK'}, set())
    """
    return set(_scripts(piece))


def _scripts(piece: str) -> list[str]:
    return [unicodedata.name(letter, "?").split()[0] for letter in piece.removeprefix("##") if letter.isalpha()]


def count_pieces(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[int]:
    """How often each piece occurs in texts, by its id.

    >>> dict(count_pieces(Tokenizer([*SPECIAL_PIECES, "a", "b"]), ["a b", "b"]))
    {5: 1, 6: 2}
    """
    used: Counter[int] = Counter()
    lines = (line for text in texts for line in text.split("\n") if line)
    while block := list(islice(lines, BLOCK)):
        for ids in tokenizer.ids_batch(block):
            used.update(ids)
    return used


def is_spelled(piece: str, known: frozenset[str]) -> bool:
    """Whether shorter pieces could spell a piece: all its characters are pieces, and it is not one of them itself.

    >>> known = frozenset(["un", "u", "##n", "##nb"])
    >>> is_spelled("un", known), is_spelled("u", known), is_spelled("##nb", known)
    (True, False, False)
    """
    text = piece.removeprefix("##")
    if len(text) < 2:
        return False
    first = "##" + text[0] if piece.startswith("##") else text[0]
    return first in known and all("##" + character in known for character in text[1:])


def keep_pieces(model: Model, kept: Sequence[int]) -> Model:
    """The model with the rows of these pieces alone: word embeddings and the masked-word head's bias."""
    rows = torch.tensor(kept)
    smaller = deepcopy(model)
    bert = smaller.bert if isinstance(smaller, BertWithHead) else smaller
    words = bert.embeddings.words.weight.detach()[rows].clone()
    bert.embeddings.words = nn.Embedding.from_pretrained(words, freeze=False)
    bert.config = replace(bert.config, vocabulary_size=len(kept))
    head = smaller.head if isinstance(smaller, BertWithHead) else None
    output = masked_words_in(head)
    if output is not None:
        output.bias = nn.Parameter(output.bias.detach()[rows].clone())
    return smaller


def smaller_tokenizer(tokenizer: Tokenizer, kept: Sequence[int]) -> Tokenizer:
    """The same tokenizer with these pieces alone, in their order."""
    return Tokenizer(
        [tokenizer.pieces[id] for id in kept],
        cased=tokenizer.cased,
        strip_accents=tokenizer.strip_accents,
        split_chinese=tokenizer.split_chinese,
        max_word_length=tokenizer.max_word_length,
        added=tokenizer.added,
    )
