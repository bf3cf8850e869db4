"""Other words for a place in a text: texts and places in, the replacements that a masked-word model finds fluent out.

The word is masked, and what a pretrained model finds likely there is proposed: whole words only, none far less likely
than the likeliest, written as the replaced word is (a capital stays a capital). A Chinese word of several characters
gets as many masks, filled from left to right.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from unmask.data.batches import batches_by_length
from unmask.explain.layer_words import masked_words_of
from unmask.model.folder import ModelFolder
from unmask.text.tokenizer import Tokenizer

FLUENT = 0.02  # of the likeliest piece's probability; what is less likely does not fit there
MASK = "[MASK]"


@dataclass(frozen=True)
class Place:
    """A stretch of a text that may be replaced."""

    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """What stands there."""
        return self.text[self.start : self.end]

    @property
    def masked(self) -> str:
        """The text with a mask in its place, or one for each Chinese character.

        >>> Place("so dull!", 3, 7).masked, Place("去北京", 1, 3).masked
        ('so [MASK]!', '去[MASK][MASK]')
        """
        masks = MASK * (len(self.word) if kind_of(self.word) == "Chinese" else 1)
        return f"{self.text[: self.start]}{masks}{self.text[self.end :]}"

    def begun(self, character: str) -> "Place":
        """What is left to fill when the first character has been chosen."""
        return Place(self.text[: self.start] + character + self.text[self.start + 1 :], self.start + 1, self.end)


class Proposer:
    """Proposes words with a model that has a masked-word head."""

    def __init__(self, opened: ModelFolder) -> None:
        self.opened, self.head = opened, masked_words_of(opened)

    def __call__(self, places: Sequence[Place], *, top: int) -> list[list[tuple[str, float]]]:
        """At most `top` other words for each place, with their probabilities, the likeliest first."""
        filled = self._filled(places, top + 1)  # one of them may be the word itself
        return [
            [(word, likely) for word, likely in words if word.lower() != place.word.lower()][:top]
            for place, words in zip(places, filled, strict=True)
        ]

    def _filled(self, places: Sequence[Place], top: int) -> list[list[tuple[str, float]]]:
        """Words for each place; after each likely first character of a Chinese word its likeliest end."""
        found = self._first(places, top)
        longer = [n for n, place in enumerate(places) if kind_of(place.word) == "Chinese" and len(place.word) > 1]
        begun = [(n, character, likely) for n in longer for character, likely in found[n]]
        ends = self._filled([places[n].begun(character) for n, character, _ in begun], 1) if begun else []
        for n in longer:
            found[n] = []
        for (n, character, likely), rest in zip(begun, ends, strict=True):
            found[n] += [(character + end, likely * probability) for end, probability in rest]
        return found

    def _first(self, places: Sequence[Place], top: int) -> list[list[tuple[str, float]]]:
        """What may stand at the first mask of each place."""
        found: list[list[tuple[str, float]]] = [[] for _ in places]
        rows = [_around_mask(self.opened.tokenizer, place, self.opened.config.positions) for place in places]
        for which, batch in batches_by_length([ids for ids, _ in rows]):
            asked = batch.starts + np.array([rows[i][1] for i in which[batch.order]])
            with torch.inference_mode():
                encoded = self.opened.bert(batch, rows=asked)
                logits = self.head(encoded, torch.from_numpy(asked).to(encoded.rows.device))
                likely = torch.softmax(logits[:, : self.opened.tokenizer.size].float(), -1).cpu()
            for row, number in enumerate(which[batch.order].tolist()):
                found[number] = self._fluent(likely[row], places[number].word, top)
        return found

    def _fluent(self, likely: torch.Tensor, word: str, top: int) -> list[tuple[str, float]]:
        """The words among the likeliest pieces."""
        best = likely.topk(min(4 * top, len(likely)))  # some are not words
        words = []
        for id, probability in zip(best.indices.tolist(), best.values.tolist(), strict=True):
            piece = self.opened.tokenizer.pieces[id]
            fits = probability >= FLUENT * float(best.values[0]) and kind_of(piece) == kind_of(word)
            if fits:
                words.append((written_like(word, piece), probability))
        return words[:top]


def kind_of(word: str) -> str:
    """What may replace what: words words, numbers numbers, marks marks; a piece that goes on with a word nothing.

    >>> kind_of("dull"), kind_of("好"), kind_of("17"), kind_of("!"), kind_of("##ly"), kind_of("[UNK]")
    ('letters', 'Chinese', 'digits', 'marks', 'none', 'none')
    """
    if word.startswith("##") or (word.startswith("[") and word.endswith("]") and len(word) > 2):
        return "none"
    if "CJK" in unicodedata.name(word[0], ""):
        return "Chinese"
    return "letters" if word[0].isalpha() else "digits" if word[0].isdigit() else "marks"


def written_like(word: str, new: str) -> str:
    """A new word with the capitals of the one that it replaces.

    >>> written_like("Dull", "bright"), written_like("DULL", "bright"), written_like("I", "we")
    ('Bright', 'BRIGHT', 'We')
    """
    if len(word) > 1 and word.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new


def _around_mask(tokenizer: Tokenizer, place: Place, positions: int) -> tuple[list[int], int]:
    """The pieces of a text around its mask, as many as the model has positions for, and where the mask is."""
    encoding = tokenizer.encode(place.masked)
    starts = [start for start, _ in encoding.offsets[1:-1]]
    mask = starts.index(place.start)
    room = positions - 2
    first = max(0, min(mask - room // 2, len(starts) - room))
    pieces = encoding.ids[1:-1][first : first + room]
    return [tokenizer.cls_id, *pieces, tokenizer.sep_id], mask - first + 1
