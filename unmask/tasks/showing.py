"""What a pretrained model says, for people to see: held-out sentences with a word hidden, and what it puts there.

In: a model and tokenised text. Out: a few `Example`s, the same sentences for every model on that store.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from unmask.data.chance import generator
from unmask.data.pairs import Text
from unmask.data.ragged import Integers, pack
from unmask.decode.words import top_pieces
from unmask.model.heads import BertWithHead
from unmask.tasks.objectives import words_head
from unmask.text.tokenizer import Tokenizer

SHORTEST, LONGEST = 6, 24  # pieces: enough to say something about the word, few enough for one line
SHOW_CHANCE = 0x53484F57  # not a run's seed: all runs on a store show the same sentences


@dataclass(frozen=True)
class Example:
    """A sentence with a word hidden, the word, and the model's first choices with their probabilities."""

    text: str
    word: str
    candidates: dict[str, float]

    def in_words(self) -> str:
        """The example in a line.

        >>> Example("a [MASK] barked", "dog", {"dog": 0.71, "cat": 0.2}).in_words()
        'a [MASK] barked → dog 71 %, cat 20 % (dog)'
        """
        said = ", ".join(f"{piece} {100 * probability:.0f} %" for piece, probability in self.candidates.items())
        return f"{self.text} → {said} ({self.word})"


def show(
    model: BertWithHead, text: Text, documents: Integers, tokenizer: Tokenizer, *, count: int = 5, top: int = 3
) -> tuple[Example, ...]:
    """Hides a word in each of a few short sentences, each of another document, and lets the model fill it."""
    examples: list[Example] = []
    for ids, place in _questions(text, documents, tokenizer):
        if len(examples) == count:
            break
        hidden = [*ids[:place], tokenizer.mask_id, *ids[place + 1 :]]
        written = tokenizer.decode(hidden)
        if all(example.text != written for example in examples):
            candidates = _fill(model, [tokenizer.cls_id, *hidden, tokenizer.sep_id], place + 1, tokenizer, top)
            examples.append(Example(written, tokenizer.pieces[ids[place]], candidates))
    return tuple(examples)


def _questions(text: Text, documents: Integers, tokenizer: Tokenizer) -> Iterator[tuple[list[int], int]]:
    """A short sentence of each document, in an order of chance, and the place of a word in it that is one piece."""
    chance = generator(SHOW_CHANCE)
    for document in chance.permutation(documents).tolist():
        for sentence in range(*text.document_sentences[document : document + 2].tolist()):
            start, stop = text.sentence_tokens[sentence : sentence + 2].tolist()
            if SHORTEST <= stop - start <= LONGEST:
                ids = text.tokens(start, stop).tolist()
                if places := _whole_words(ids, tokenizer):
                    yield ids, int(chance.choice(places))
                    break


def _whole_words(ids: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Where words stand that are one piece; none if the sentence has an unknown piece."""
    if tokenizer.unknown_id in ids:
        return []
    starts = [*tokenizer.starts_word[list(ids)].tolist(), True]
    return [
        place for place, id in enumerate(ids) if starts[place] and starts[place + 1] and tokenizer.pieces[id].isalpha()
    ]


def _fill(model: BertWithHead, ids: list[int], place: int, tokenizer: Tokenizer, top: int) -> dict[str, float]:
    head = words_head(model.head)
    with torch.no_grad():
        logits = head(model.bert(pack([ids])), torch.tensor([place], device=head.bias.device))  # (1, V)
    chosen, probabilities = top_pieces(logits[:, : tokenizer.size].float().cpu().numpy(), top)
    pairs = zip(chosen[0].tolist(), probabilities[0].tolist(), strict=True)
    return {tokenizer.pieces[id]: round(probability, 4) for id, probability in pairs}
