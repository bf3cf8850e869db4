"""Fills the gaps of a text: a text with [MASK]s in, the likeliest pieces for each of them out, with probabilities.

Each mask is filled on its own, seeing the others as masks: the probabilities are not those of a whole filling.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unmask.apps.reading import Reading, Report, read
from unmask.data.batches import batches_by_length
from unmask.data.ragged import Ragged
from unmask.decode.words import top_pieces
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder
from unmask.runtime.pretrained import ServedWords
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.apps.pretrained import Words
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead


@dataclass(frozen=True)
class Candidate:
    """A piece that may stand at a mask."""

    token: str  # as in the vocabulary: ##s continues the word before it
    probability: float


@dataclass(frozen=True)
class Mask:
    """A [MASK] of the text, by its place there, and what may stand for it, the likeliest first."""

    start: int
    end: int
    candidates: tuple[Candidate, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        candidates = [asdict(candidate) for candidate in self.candidates]
        return {"start": self.start, "end": self.end, "candidates": candidates}


@dataclass(frozen=True)
class Filled:
    """What may stand at a text's masks."""

    text: str
    masks: tuple[Mask, ...]
    cut: int | None = None  # the character from which on the text was too long to be read

    @property
    def best(self) -> str:
        """The text with each mask's likeliest piece in its place.

        >>> Filled("two [MASK]", (Mask(4, 10, (Candidate("trees", 0.5),)),)).best
        'two trees'
        """
        text = self.text
        for mask in reversed(self.masks):
            token = mask.candidates[0].token
            before = text[: mask.start].rstrip() if token.startswith("##") else text[: mask.start]
            text = before + token.removeprefix("##") + text[mask.end :]
        return text

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {"text": self.text, "masks": [mask.to_dict() for mask in self.masks]}


class Filler:
    """Fills masks with a pretrained model, open in torch or exported.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import BertWithHead, make_head
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "rain", "snow"])
    >>> config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    >>> fill = Filler(BertWithHead(Bert(config), make_head("pretraining", config)), tokenizer)
    >>> [(mask.start, mask.end) for mask in fill("rain [MASK] [MASK]").masks]
    [(5, 11), (12, 18)]
    """

    def __init__(self, model: "Bert | BertWithHead | ServingFolder", tokenizer: Tokenizer, *, top: int = 5) -> None:
        self.words = words_of(model)
        self.tokenizer, self.top = tokenizer, top

    def __call__(self, text: str, *, top: int | None = None) -> Filled:
        """The likeliest pieces for every mask of a text."""
        return self.many([text], top=top)[0]

    def many(self, texts: Sequence[str], *, top: int | None = None, report: Report | None = None) -> list[Filled]:
        """The same for each of many texts, in batches."""
        readings = read(self.tokenizer, texts, longest=self.words.positions)
        places = [_mask_places(text, reading, self.tokenizer) for text, reading in zip(texts, readings, strict=True)]
        answers: dict[int, Filled] = {}
        done, total = 0, sum(len(reading.encoding.ids) for reading in readings)
        for which, batch in batches_by_length([reading.encoding.ids for reading in readings]):
            rows = zip(which.tolist(), batch.starts.tolist(), strict=True)
            candidates = iter(self._candidates(batch, [start + place for i, start in rows for place in places[i]], top))
            for i in which.tolist():
                offsets = [readings[i].encoding.offsets[place] for place in places[i]]
                masks = tuple(Mask(start, end, next(candidates)) for start, end in offsets)
                answers[i] = Filled(texts[i], masks, readings[i].cut)
            done += len(batch.ids)
            if report is not None:
                report(done, total)
        return [answers[i] for i in range(len(texts))]

    def _candidates(self, batch: Ragged, places: list[int], top: int | None) -> list[tuple[Candidate, ...]]:
        """The likeliest pieces at some places of a batch; nothing else goes through the vocabulary product."""
        logits = self.words(batch, places)  # (M, V)
        pieces = self.tokenizer.pieces  # some models round the vocabulary's size up: no piece, no candidate
        ids, probabilities = top_pieces(logits[:, : len(pieces)], top or self.top)
        return [
            tuple(Candidate(pieces[id], probability) for id, probability in zip(*row, strict=True))
            for row in zip(ids.tolist(), probabilities.tolist(), strict=True)
        ]


def _mask_places(text: str, reading: Reading, tokenizer: Tokenizer) -> list[int]:
    """Where the masks stand among the pieces; there must be at least one, and none in a part that is not read."""
    if reading.cut is not None and "[MASK]" in text[reading.cut :]:
        raise InputError(
            f"a [MASK] behind character {reading.cut:,}, where the model's {len(reading.encoding.ids)} positions end",
            wanted="every [MASK] within them",
            do="shorten the text",
        )
    places = [place for place, id in enumerate(reading.encoding.ids) if id == tokenizer.mask_id]
    if not places:
        written = re.search(r"\[mask\]|<mask>", text, re.IGNORECASE)
        got = f"{written[0]!r} in the text" if written else "a text without [MASK]"
        raise InputError(got, wanted="[MASK] at each place to fill", do='write for instance "The sky is [MASK]."')
    return places


def words_of(model: "Bert | BertWithHead | ServingFolder") -> "Words | ServedWords":
    """The masked-word head of a model, open in torch or exported."""
    if isinstance(model, ServingFolder):
        return ServedWords.of(model)
    from unmask.apps.pretrained import Words

    return Words(model)
