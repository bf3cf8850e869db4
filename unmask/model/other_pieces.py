"""A model under another vocabulary: a model, its tokenizer and another come in; the same model for that one goes out.

A piece that the model has keeps its row. Another whose text the model can spell starts as the mean of those pieces.
What it cannot spell, such as the characters of a language that it never read, starts where its neighbours in the new
text say: counted vectors are brought into the model's space by the linear map that fits best where both are known.
Everything above the word embeddings stays as it was, so what a model knows of sentences serves the new language too.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unmask.model.bert import Bert
from unmask.model.counted_start import CountedStart
from unmask.model.heads import BertWithHead, masked_words_in
from unmask.text.coverage import word_encoder
from unmask.text.tokenizer import Tokenizer

RIDGE = 1e-2  # of the mean square of what is mapped: directions that few words tell about stay near zero
SMALLEST = 1e-6  # of what is added to it, where nothing tells one word from another

Matrix = NDArray[np.float32]
Model = TypeVar("Model", bound=Bert | BertWithHead)


@dataclass(frozen=True)
class Carried:
    """Where the rows of a new vocabulary come from."""

    kept: int  # pieces that both have
    composed: int  # that the model can spell
    new: int  # that it cannot: by their neighbours in the text, or drawn by chance


def under_other_pieces(
    model: Model, tokenizer: Tokenizer, other: Tokenizer, counted: CountedStart | None = None, seed: int = 0
) -> tuple[Model, Carried]:
    """The model with rows for another tokenizer's pieces; the one given is left as it is.

    >>> from unmask.model.config import BertConfig
    >>> old = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##mask"])
    >>> new = Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "unmask", "##mask", "天"])
    >>> bert = Bert(BertConfig.named("tiny", vocabulary_size=old.size))
    >>> carried_over, carried = under_other_pieces(bert, old, new)
    >>> carried
    Carried(kept=6, composed=1, new=1)
    >>> before, after = bert.embeddings.words.weight, carried_over.embeddings.words.weight
    >>> bool((after[5] == before[[5, 6]].mean(0)).all()), after.shape[0]
    (True, 8)
    """
    spelled = [*map(speller(tokenizer), other.pieces)]
    carried_over = deepcopy(model)
    bert = carried_over.bert if isinstance(carried_over, BertWithHead) else carried_over
    vectors = None if counted is None else np.where(counted.counted[:, None], counted.vectors, 0)
    rows = rows_for(spelled, _numbers(bert.embeddings.words.weight)[: tokenizer.size], vectors, seed)
    bert.embeddings.words = nn.Embedding.from_pretrained(torch.from_numpy(rows), freeze=False)
    bert.config = replace(bert.config, vocabulary_size=len(rows))
    words = masked_words_in(carried_over.head if isinstance(carried_over, BertWithHead) else None)
    if words is not None:
        biases = biases_for(spelled, _numbers(words.bias), None if counted is None else counted.bias)
        words.bias = nn.Parameter(torch.from_numpy(biases))
    kept = len({*tokenizer.pieces} & {*other.pieces})
    known = sum(bool(ids) for ids in spelled)
    return carried_over, Carried(kept, known - kept, len(spelled) - known)


def rows_for(spelled: Sequence[Sequence[int]], rows: Matrix, counted: Matrix | None, seed: int = 0) -> Matrix:
    """Word embeddings (V, D) from those that spell each piece; `counted` (V, d) is zero for a piece never seen."""
    known = np.array([len(ids) > 0 for ids in spelled])
    found = like(rows, len(spelled), np.random.default_rng(seed))
    for number in np.flatnonzero(known).tolist():
        found[number] = rows[list(spelled[number])].mean(0)
    if counted is not None:
        seen = counted.any(1)
        if (both := seen & known).any():
            found[seen & ~known] = into_space(counted[both], found[both], counted[seen & ~known])
    return found


def biases_for(spelled: Sequence[Sequence[int]], bias: Matrix, counted: Matrix | None) -> Matrix:
    """The decoder's bias for each piece by its spelling; where it has none, as frequent as it was counted.

    >>> biases_for([[0], [0, 1], []], np.array([1.0, 3.0], np.float32), np.array([5.0, 5.0, 4.0], np.float32)).tolist()
    [1.0, 2.0, 0.5]
    """
    known = np.array([len(ids) > 0 for ids in spelled])
    found = np.array([bias[list(ids)].mean() if ids else bias.mean() for ids in spelled], dtype=np.float32)
    if counted is not None and known.any():
        found[~known] = counted[~known] + (found[known] - counted[known]).mean()
    return found


def speller(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """A function from a piece to the ids that spell it in another vocabulary; none where it cannot.

    >>> spell = speller(Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "mask", "##mask"]))
    >>> spell("un"), spell("unmask"), spell("##maskmask"), spell("天")
    ([5], [5, 7], [7, 7], [])
    """
    ids = {piece: id for id, piece in enumerate(tokenizer.pieces)}
    encode = word_encoder(tokenizer.pieces)

    def spell(piece: str) -> list[int]:
        if piece in ids:
            return [ids[piece]]
        pieces = encode(piece.removeprefix("##"))
        if piece.startswith("##") and pieces:  # in the middle of a word, as far as the vocabulary has it there
            pieces = [f"##{pieces[0]}" if f"##{pieces[0]}" in ids else pieces[0], *pieces[1:]]
        return [ids[part] for part in pieces]

    return spell


def into_space(there: Matrix, here: Matrix, others: Matrix) -> Matrix:
    """Vectors of another space brought into this one by what is known in both, as long as vectors are here."""
    middle_there, middle_here = there.mean(0), here.mean(0)
    centred, wanted = there - middle_there, here - middle_here
    squares = centred.T @ centred
    damping = (RIDGE * float(np.trace(squares)) / len(squares) + SMALLEST) * np.eye(len(squares), dtype=np.float32)
    brought = (others - middle_there) @ np.linalg.solve(squares + damping, centred.T @ wanted)  # (N, D)
    lengths = np.linalg.norm(brought, axis=1, keepdims=True)
    usual = float(np.median(np.linalg.norm(wanted, axis=1)))
    return np.asarray(middle_here + brought * (usual / np.maximum(lengths, 1e-6)), dtype=np.float32)


def like(rows: Matrix, number: int, generator: np.random.Generator) -> Matrix:
    """Rows drawn by chance with the mean and the deviation that the given ones have in every direction."""
    drawn = generator.normal(rows.mean(0), rows.std(0), (number, rows.shape[1]))
    return drawn.astype(np.float32)


def _numbers(tensor: Tensor) -> Matrix:
    return np.asarray(tensor.detach().float().cpu().numpy())
