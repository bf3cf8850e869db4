"""How likely a text is to a masked-word model: texts in, the log-probability of every word out, and their sum.

The sum is the pseudo-log-likelihood of Salazar et al. (2020): each word is hidden in turn and asked for, given all
the others. `unmask.data.masked_copies` says what is hidden with a word of several pieces. Logarithms are natural.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmask.apps.fill import words_of
from unmask.apps.reading import Reading, Report, read
from unmask.data.batches import BATCH_TOKENS
from unmask.data.masked_copies import MaskedCopies, masked_copies
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.bert import Bert
    from unmask.model.heads import BertWithHead


@dataclass(frozen=True)
class ScoredWord:
    """A word (or mark, or Chinese character) by its place in the text, and the logarithm of its probability there."""

    start: int
    end: int
    log_probability: float


@dataclass(frozen=True)
class ScoredText:
    """A text, its words, and the sum of their log-probabilities."""

    text: str
    log_probability: float
    words: tuple[ScoredWord, ...]
    cut: int | None = None  # the character from which on the text was too long to be read

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        words = [asdict(word) for word in self.words]
        return {"text": self.text, "log_probability": self.log_probability, "words": words}


@dataclass(frozen=True)
class Scores:
    """Scored texts, in the order given."""

    texts: tuple[ScoredText, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {"texts": [text.to_dict() for text in self.texts]}


class Scorer:
    """Scores texts with a pretrained model, open in torch or exported.

    >>> from unmask.model.bert import Bert
    >>> from unmask.model.config import BertConfig
    >>> from unmask.model.heads import BertWithHead, make_head
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "rain", "snow", "##s"])
    >>> config = BertConfig.named("tiny", vocabulary_size=tokenizer.size)
    >>> score = Scorer(BertWithHead(Bert(config), make_head("pretraining", config)), tokenizer)
    >>> [(word.start, word.end) for word in score("it snows").texts[0].words]
    [(0, 2), (3, 8)]
    """

    def __init__(
        self,
        model: "Bert | BertWithHead | ServingFolder",
        tokenizer: Tokenizer,
        *,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self.words = words_of(model)
        self.tokenizer, self.batch_tokens = tokenizer, batch_tokens

    def __call__(self, texts: str | Sequence[str], *, report: Report | None = None) -> Scores:
        """The log-probability of every word of every text."""
        texts = [texts] if isinstance(texts, str) else texts
        readings = read(self.tokenizer, texts, longest=self.words.positions)
        for text, reading in zip(texts, readings, strict=True):
            self._check(text, reading)
        encodings = [reading.encoding for reading in readings]
        copies, of_text = masked_copies([e.ids for e in encodings], [e.word_ids for e in encodings])
        log_probabilities = self._log_probabilities(copies, report)
        return Scores(
            tuple(
                _scored(text, reading, log_probabilities[own].tolist())
                for text, reading, own in zip(texts, readings, of_text, strict=True)
            )
        )

    def sums(self, texts: Sequence[str], *, report: Report | None = None) -> list[float]:
        """Only the sum for each text; a text that comes again is scored once."""
        different = list(dict.fromkeys(texts))
        scores = {scored.text: scored.log_probability for scored in self(different, report=report).texts}
        return [scores[text] for text in texts]

    def _check(self, text: str, reading: Reading) -> None:
        if len(reading.encoding.ids) == 2:
            raise InputError("a text without words", wanted="at least one word to score")
        if self.tokenizer.mask_id in reading.encoding.ids:
            raise InputError(f"[MASK] in {text[:60]!r}", wanted="words to score", do="use `unmask fill` for masks")

    def _log_probabilities(self, copies: MaskedCopies, report: Report | None) -> NDArray[np.float64]:
        """The log-probability of what each copy asks for."""  # (N,)
        targets = copies.targets
        found = np.empty(len(targets))
        done, total = 0, int(copies.lengths.sum())
        for run, batch, places in copies.batches(self.tokenizer.mask_id, tokens=self.batch_tokens):
            found[run] = self.words.log_probabilities(batch, places, targets[run])
            done += len(batch.ids)
            if report is not None:
                report(done, total)
        return found


def _scored(text: str, reading: Reading, log_probabilities: Sequence[float]) -> ScoredText:
    """Sums pieces to words and words to the text."""
    encoding = reading.encoding
    pieces = [
        (word, offset) for word, offset in zip(encoding.word_ids, encoding.offsets, strict=True) if word is not None
    ]
    words = []
    for _, group in groupby(zip(pieces, log_probabilities, strict=True), key=lambda piece: piece[0][0]):
        word = list(group)
        start, end = word[0][0][1][0], word[-1][0][1][1]
        words.append(ScoredWord(start, end, sum(log_probability for _, log_probability in word)))
    return ScoredText(text, sum(log_probabilities), tuple(words), reading.cut)
