"""Search by meaning: texts in, kept as vectors; queries in, the texts nearest to them out. Pairs of near texts too.

Vectors of an encoder that was never taught to embed are whitened, so that a cosine means something; the index keeps the
whitening with them (see spaces.py).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from unmask.apps.app_folder import read_whole, write_app
from unmask.apps.refusing import Refused, fault_of_words
from unmask.apps.spaces import TextSpace, load_vectors
from unmask.apps.vectors import TextVectors
from unmask.data.cells import is_blank, no_examples, shorten, text_cell
from unmask.data.json_lines import read_json_lines
from unmask.data.table_rows import read_rows
from unmask.data.text_lines import numbered_lines
from unmask.decode.words import Floats
from unmask.errors import InputError
from unmask.retrieve.nearest import Nearest
from unmask.text.formats import format_of

Report = Callable[[int, int], None]
KIND = "search"
TEXTS, VECTORS = "texts.jsonl", "vectors.npy"
HITS = 10  # of a query, unless asked otherwise


@dataclass(frozen=True)
class PlacedText:
    """A text and where it stands."""

    text: str
    place: str  # the file and its line

    def to_dict(self) -> dict[str, Any]:
        """The text as JSON has it."""
        return {"text": self.text, "place": self.place}


@dataclass(frozen=True)
class Hits:
    """What a query finds."""

    query: str
    hits: tuple[tuple[PlacedText, float], ...]  # with their cosines, best first

    def to_dict(self) -> dict[str, Any]:
        """The hits as JSON has them."""
        return {"query": self.query, "hits": [{**text.to_dict(), "score": round(s, 4)} for text, s in self.hits]}


@dataclass(frozen=True)
class SimilarPairs:
    """Texts of one file that are near one another."""

    pairs: tuple[tuple[PlacedText, PlacedText, float], ...]  # the nearest first
    count: int  # of all pairs above the threshold; `pairs` are the best of them

    def to_dict(self) -> dict[str, Any]:
        """The pairs as JSON has them."""
        told = [{"first": a.to_dict(), "second": b.to_dict(), "score": round(s, 4)} for a, b, s in self.pairs]
        return {"pairs": told, "count": self.count}


@dataclass(frozen=True)
class TextIndex:
    """Texts that can be found by what they mean."""

    texts: tuple[PlacedText, ...]
    space: TextSpace
    vectors: Floats  # (texts, D)

    @classmethod
    def of(
        cls,
        texts: Sequence[PlacedText],
        encoder: TextVectors,
        *,
        whiten: bool | None = None,
        report: Report = lambda *_: None,
    ) -> Self:
        """The index of texts; `whiten` None: as the encoder needs it."""
        space, vectors = TextSpace.of(encoder, [placed.text for placed in texts], whiten=whiten, report=report)
        return cls(tuple(texts), space, vectors)

    def __call__(self, query: str, *, top: int = HITS) -> Hits:
        """The texts nearest to one query; one that cannot be read is an error."""
        found = self.many([query], top=top)[0]
        if isinstance(found, Refused):
            raise InputError(found.error.removeprefix("got "))
        return found

    def many(self, queries: Sequence[str], *, top: int = HITS) -> list[Hits | Refused]:
        """The texts nearest to each query, or what is wrong with it."""
        faults = [fault_of_words(query, "query") for query in queries]
        sound = [query for query, fault in zip(queries, faults, strict=True) if fault is None]
        places, cosines = Nearest(self.vectors).best(self.space(sound), top)
        rows = zip(sound, places.tolist(), cosines.tolist(), strict=True)
        found = iter(
            [Hits(query, tuple((self.texts[p], c) for p, c in zip(*best, strict=True))) for query, *best in rows]
        )
        return [next(found) if fault is None else fault for fault in faults]

    def similar(self, threshold: float, *, most: int) -> SimilarPairs:
        """The nearest pairs among the texts, at most so many, and how many have at least that cosine."""
        firsts, seconds = np.empty(0, np.int64), np.empty(0, np.int64)
        cosines, count = np.empty(0, np.float32), 0
        for block in Nearest(self.vectors).pairs(threshold):
            count += len(block[0])
            firsts, seconds, cosines = (
                np.concatenate([kept, new]) for kept, new in zip((firsts, seconds, cosines), block, strict=True)
            )
            best = np.lexsort((seconds, firsts, -cosines))[:most]
            firsts, seconds, cosines = firsts[best], seconds[best], cosines[best]
        kept = zip(firsts.tolist(), seconds.tolist(), cosines.tolist(), strict=True)
        return SimilarPairs(tuple((self.texts[one], self.texts[other], c) for one, other, c in kept), count)

    def save(self, folder: Path) -> None:
        """Writes the index's folder, as a whole."""
        with write_app(folder, KIND, {**self.space.fields(folder), "texts": len(self.texts)}) as temporary:
            with (temporary / TEXTS).open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(placed.to_dict(), ensure_ascii=False) + "\n" for placed in self.texts)
            np.save(temporary / VECTORS, self.vectors)
            self.space.save(temporary)


def open_search(folder: Path | str, *, device: str = "cpu", threads: int | None = None) -> TextIndex:
    """Opens an index's folder; an encoder that has changed since is refused."""
    place = Path(folder)

    def read(fields: dict[str, Any]) -> TextIndex:
        texts = tuple(PlacedText(row["text"], row["place"]) for _, row in read_json_lines(place / TEXTS))
        space = TextSpace.open(place, fields, device=device, threads=threads)
        return TextIndex(texts, space, load_vectors(place / VECTORS, len(texts)))

    return read_whole(place, KIND, read)


def read_placed(path: Path, *, column: str = "text") -> list[PlacedText]:
    """The texts of a file that are not blank: of a txt its lines, of a table one column.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> _ = file.write_text("The lamp is lit.\\n\\nSnow fell.\\n")
    >>> [(placed.text, placed.place.rpartition(" ")[2]) for placed in read_placed(file)]
    [('The lamp is lit.', '1'), ('Snow fell.', '3')]
    """
    if path.is_dir():
        raise InputError(f"{path}, a folder", wanted="a file of texts, or an index that `unmask search -o` wrote")
    rows = _lines(path) if format_of(path) == "txt" else _cells(path, column)
    texts = [PlacedText(text, place) for place, text in rows if not is_blank(text)]
    if not texts:
        raise no_examples(path, "texts, one a line or in a column")
    return texts


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    return ((f"{path} line {number}", line) for number, line in numbered_lines(path))


def _cells(path: Path, column: str) -> Iterator[tuple[str, str]]:
    for place, row in read_rows(path):
        if column not in row:
            got = f"{path} with columns {shorten(row, 20)}"
            raise InputError(got, wanted=f"a column '{column}'", do="name the one with the texts: --column NAME")
        yield place, text_cell(place, row, column)
