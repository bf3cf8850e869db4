"""The index of an FAQ: entries in, how well each fits a question out, by words and by vectors together.

Every way to ask for an entry stands in the index, and an entry fits as well as the best of them. The cosine of vectors
and the share of words (BM25) are added with a weight: unlike a fusion of ranks the sum says how sure it is, and poor
words do not drown good vectors (benchmarks/records/2026-11-16_faq).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unmask.apps.faq_entries import Entry
from unmask.apps.spaces import TextSpace
from unmask.apps.vectors import TextVectors
from unmask.decode.words import Floats
from unmask.retrieve.lexical import Lexical
from unmask.retrieve.overlap import shares

Report = Callable[[int, int], None]
Places = NDArray[np.int64]

WORDS_TAUGHT, WORDS_UNTAUGHT = 0.2, 0.4  # the weight of words, where the encoder was taught to embed or was not
NOTHING = -1e9  # the score of an entry that is left out, lower than any cosine and any value


@dataclass(frozen=True)
class FaqIndex:
    """Entries that can be found by a question."""

    entries: tuple[Entry, ...]
    space: TextSpace
    vectors: Floats  # (phrasings, D)
    lexical: Lexical
    words: float  # the weight of words; vectors have the rest

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        encoder: TextVectors,
        *,
        words: float | None = None,
        report: Report = lambda *_: None,
    ) -> Self:
        """The index of entries; `words` None: the weight that suits the encoder."""
        phrasings = phrasings_of(entries)
        space, vectors = TextSpace.of(encoder, phrasings, report=report)
        if words is None:
            words = WORDS_TAUGHT if encoder.taught else WORDS_UNTAUGHT
        return cls(tuple(entries), space, vectors, Lexical.of(phrasings), words)

    @cached_property
    def phrasings(self) -> tuple[str, ...]:
        """All ways to ask, entry by entry."""
        return phrasings_of(self.entries)

    @cached_property
    def starts(self) -> Places:
        """Where the phrasings of each entry begin."""
        counts = [len(entry.phrasings) for entry in self.entries]
        return np.array([0, *accumulate(counts)][:-1], np.int64)

    @cached_property
    def owners(self) -> Places:
        """The entry of each phrasing."""
        return np.repeat(np.arange(len(self.entries)), [len(entry.phrasings) for entry in self.entries])

    def weighing(self, words: float) -> Self:
        """The same index with another weight of words."""
        return replace(self, words=words)

    def scores(self, questions: Sequence[str], vectors: Floats | None = None) -> Floats:
        """How well each phrasing fits each question, whose vectors may be at hand."""  # (Q, phrasings)
        asked = self.space(questions) if vectors is None else vectors
        found = (1 - self.words) * (asked @ self.vectors.T)
        if self.words:
            found += self.words * np.stack([shares(self.lexical, question) for question in questions])
        return found

    def by_entry(self, scores: Floats) -> Floats:
        """The best score among each entry's phrasings."""  # (Q, phrasings) -> (Q, entries)
        best: Floats = np.maximum.reduceat(scores, self.starts, axis=1)
        return best

    def best_phrasing(self, scores: Floats, entry: int) -> str:
        """The way to ask for an entry that fits a question best, by the scores of its phrasings."""
        start = int(self.starts[entry])
        ways = self.entries[entry].phrasings
        return ways[int(scores[start : start + len(ways)].argmax())]


def phrasings_of(entries: Sequence[Entry]) -> tuple[str, ...]:
    """All ways to ask for entries, one after another.

    >>> phrasings_of([Entry("Free?", "Yes.", ("Costs?",)), Entry("Where?", "Here.")])
    ('Free?', 'Costs?', 'Where?')
    """
    return tuple(phrasing for entry in entries for phrasing in entry.phrasings)
