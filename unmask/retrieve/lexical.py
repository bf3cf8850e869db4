"""Texts found by the words that they share with a query: BM25 (Robertson & Zaragoza 2009), texts in, their scores out.

What each word of each text adds to a score depends on the texts alone, so it is worked out once. A query then adds up
the stored numbers of its words: a few array operations, however many texts there are.
"""

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.text.sentences import CHINESE

SATURATION = 1.2  # k1: how much a word's second and third occurrence still add
LENGTH_WEIGHT = 0.75  # b: how much a long text's words count less
WORD = re.compile(rf"[{CHINESE}]+|[^\W_{CHINESE}]+")
CHINESE_RUN = re.compile(f"[{CHINESE}]")
ACCENTS = re.compile("[\u0300-\u036f]")

Floats = NDArray[np.float32]


def terms(text: str) -> list[str]:
    """The words of a text in small letters without accents; of Chinese all neighbouring characters.

    >>> terms("The Café's 2 doors")
    ['the', 'cafe', 's', '2', 'doors']
    >>> terms("长城在北京 ，雪")
    ['长城', '城在', '在北', '北京', '雪']
    """
    if text.isascii():
        return WORD.findall(text.lower())
    plain = ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    found = []
    for word in WORD.findall(unicodedata.normalize("NFKC", plain)):
        if len(word) > 1 and CHINESE_RUN.match(word):
            found += [word[place : place + 2] for place in range(len(word) - 1)]
        else:
            found.append(word)
    return found


@dataclass(frozen=True, eq=False)
class Lexical:
    """Texts that can be found by their words.

    >>> lexical = Lexical.of(["Snow fell on the hill.", "The lamp is lit.", "长城在北京。"])
    >>> lexical.best("Who lit the lamp?", top=1)[0][0], lexical.best("北京有什么？", top=5)[0][0]
    (1, 2)
    """

    vocabulary: Mapping[str, int]  # each term's row in `begins`
    begins: NDArray[np.int64]  # (terms + 1,) where a term's texts begin in the two below
    places: NDArray[np.int32]  # texts, rising within a term
    weights: Floats  # what the term adds to the text's score
    count: int  # texts

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Lexical":
        """Counts the words of texts."""
        vocabulary: dict[str, int] = {}
        rows, places, occurrences, lengths = array("i"), array("i"), array("i"), array("i")
        for place, text in enumerate(texts):
            counted = Counter(terms(text))
            rows.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counted])
            places.extend([place] * len(counted))
            occurrences.extend(counted.values())
            lengths.append(counted.total())
        row = np.array(rows, np.int64)
        order = np.argsort(row, kind="stable")
        holding = np.bincount(row, minlength=len(vocabulary))  # how many texts hold each term
        owner = np.array(places, np.int32)
        weights = _weights(np.array(occurrences, np.float64), np.array(lengths, np.float64), owner, holding[row])
        begins = np.concatenate([[0], np.cumsum(holding)]).astype(np.int64)
        return cls(vocabulary, begins, owner[order], weights[order], len(lengths))

    def scores(self, query: str) -> Floats:
        """How well each text fits a query; 0 where they share no word."""  # (N,)
        total = np.zeros(self.count, np.float32)
        for term, times in Counter(terms(query)).items():
            row = self.vocabulary.get(term)
            if row is not None:
                part = slice(self.begins[row], self.begins[row + 1])
                total[self.places[part]] += times * self.weights[part]  # a term has a text once: nothing is lost
        return total

    def best(self, query: str, top: int) -> list[tuple[int, float]]:
        """The texts that fit best, place and score, best first, equals in their order; none that shares no word.

        >>> Lexical.of(["one", "two", "one"]).best("one", top=5)[1][0]
        2
        """
        scores = self.scores(query)
        found = np.flatnonzero(scores)
        if len(found) > top > 0:  # all equals of the last one stay, so that order decides between them
            found = found[scores[found] >= np.partition(scores[found], -top)[-top]]
        best = found[np.argsort(-scores[found], kind="stable")][:top]
        return list(zip(best.tolist(), scores[best].tolist(), strict=True))

    def rarity(self, term: str, beside: int = 0) -> float:
        """What a word is worth: the fewer texts hold it the more, most where none does.

        `beside` further texts are thought to stand there without it.

        >>> lexical = Lexical.of(["one", "one two"])
        >>> [round(lexical.rarity(term), 2) for term in ("one", "two", "three")]
        [0.18, 0.69, 1.79]
        """
        row = self.vocabulary.get(term)
        holding = 0 if row is None else int(self.begins[row + 1] - self.begins[row])
        return float(np.log1p((self.count + beside - holding + 0.5) / (holding + 0.5)))

    def save(self, path: Path) -> None:
        """Writes the counted words to one file, to be opened without the texts."""
        names = np.frombuffer("\n".join(self.vocabulary).encode(), np.uint8)
        with path.open("wb") as file:
            np.savez(file, terms=names, begins=self.begins, places=self.places, weights=self.weights, count=self.count)

    @classmethod
    def load(cls, path: Path) -> "Lexical":
        """Opens what `save` wrote.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "words.npz"
        >>> Lexical.of(["a lamp"]).save(file)
        >>> Lexical.load(file).best("lamp", 1)[0][0]
        0
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                names = stored["terms"].tobytes().decode().split("\n")
                vocabulary = {name: row for row, name in enumerate(names) if name}
                return cls(vocabulary, stored["begins"], stored["places"], stored["weights"], int(stored["count"]))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise InputError(f"{path}, which is damaged or missing", do="make the index again") from error


def _weights(occurrences: Floats, lengths: Floats, places: NDArray[np.int32], holding: NDArray[np.int64]) -> Floats:
    """What each pair of a term and a text adds: rare terms more, repeated ones less each time, long texts less."""
    rarity = np.log1p((len(lengths) - holding + 0.5) / (holding + 0.5))
    relative = lengths[places] / max(float(lengths.mean()) if len(lengths) else 0.0, 1.0)
    damped = occurrences + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative)
    return (rarity * occurrences * (SATURATION + 1) / damped).astype(np.float32)
