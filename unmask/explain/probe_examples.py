"""What a probe asks: a file and a property in, sentences out with a label for each word, or one for the sentence.

Parts of speech and entities come from tagged files: CoNLL columns, or json lines with `tokens` and a list beside them.
Lengths and word identities need no tags; a plain text file is then a sentence a line.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.data.cells import is_blank, no_examples, shorten
from unmask.data.examples import TaggedExample
from unmask.data.json_lines import read_json_lines
from unmask.data.tagged import DOCUMENT_START, join_words, read_tagged
from unmask.data.text_lines import numbered_lines
from unmask.data.word_rows import words_of
from unmask.errors import InputError
from unmask.text.formats import format_of

COMMON_WORDS = 100  # whose identity is asked for
LENGTHS = 5  # classes of lengths, equally many sentences in each


@dataclass(frozen=True)
class Probed:
    """Sentences, and what should be found in the states of their words, or of the whole sentence."""

    property: str
    sentences: tuple[TaggedExample, ...]
    labels: tuple[tuple[str | None, ...], ...]  # of each word, none where it is not asked; one alone: of the sentence
    whole: bool = False  # whether sentences have the labels, not words

    def types(self, sentence: int) -> list[str]:
        """The words by which a control task draws its labels; of a sentence its first one."""
        words = [word.lower() for word in words_of(self.sentences[sentence])]
        return words[:1] if self.whole else words


def read_probed(path: Path, property: str, *, column: str | None = None) -> Probed:
    """The sentences of a file for a property; `column` is where the tags are: a number from 1 on, or a json name.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "eng.train"
    >>> _ = file.write_text("Ann NNP B-PER\\nsang VBD O\\n")
    >>> read_probed(file, "pos").labels, read_probed(file, "entity").labels
    ((('NNP', 'VBD'),), (('PER', 'O'),))
    """
    if property not in PROPERTIES:
        raise InputError(f"property {property!r}", wanted=", ".join(PROPERTIES), do="choose one with --property")
    return PROPERTIES[property](path, column)


def _parts_of_speech(path: Path, column: str | None) -> Probed:
    sentences, labels = zip(*_tagged_sentences(path, column or "pos", default=1), strict=True)
    return Probed("pos", sentences, labels)


def _entities(path: Path, column: str | None) -> Probed:
    """The types alone: whether a word begins an entity or goes on with it depends on how the file is tagged."""
    sentences, tags = zip(*_tagged_sentences(path, column or "tags", default=-1), strict=True)
    return Probed("entity", sentences, tuple(tuple(tag.partition("-")[2] or tag for tag in row) for row in tags))


def _lengths(path: Path, _: str | None) -> Probed:
    sentences = _plain_sentences(path)
    sizes = np.array([len(sentence.words) for sentence in sentences])
    limits = np.unique(np.quantile(sizes, np.arange(1, LENGTHS) / LENGTHS, method="lower"))
    names = [*(f"up to {limit} words" for limit in limits), f"more than {limits[-1]} words"]
    return Probed("length", sentences, tuple((names[at],) for at in np.searchsorted(limits, sizes)), whole=True)


def _identities(path: Path, _: str | None) -> Probed:
    sentences = _plain_sentences(path)
    words = [[word.lower() for word in words_of(sentence)] for sentence in sentences]
    common = {word for word, _ in Counter(word for row in words for word in row).most_common(COMMON_WORDS)}
    return Probed("word", sentences, tuple(tuple(word if word in common else None for word in row) for row in words))


PROPERTIES: dict[str, Callable[[Path, str | None], Probed]] = {
    "pos": _parts_of_speech,
    "entity": _entities,
    "length": _lengths,
    "word": _identities,
}


def _plain_sentences(path: Path) -> tuple[TaggedExample, ...]:
    return tuple(sentence for sentence in read_tagged(path, labelled=False).examples if sentence.words)


def _tagged_sentences(path: Path, column: str, default: int) -> list[tuple[TaggedExample, tuple[str, ...]]]:
    """Sentences with the tags of one column."""
    read = _json_sentences(path, column) if format_of(path) == "jsonl" else _column_sentences(path, column, default)
    found = []
    for words, tags in read:
        text, spans = join_words(words)
        found.append((TaggedExample(text, spans), tuple(tags)))
    if not found:
        raise no_examples(path, "sentences of words and tags")
    return found


def _json_sentences(path: Path, column: str) -> Iterator[tuple[list[str], list[str]]]:
    for line, row in read_json_lines(path):
        words, tags = _strings(row.get("tokens")), _strings(row.get(column))
        if words is None or tags is None or len(words) != len(tags):
            raise InputError(f"{path} line {line}", wanted=f"lists 'tokens' and '{column}', equally long")
        if words:
            yield words, tags


def _strings(cell: Any) -> list[str] | None:
    return cell if isinstance(cell, list) and all(isinstance(one, str) for one in cell) else None


def _column_sentences(path: Path, column: str, default: int) -> Iterator[tuple[list[str], list[str]]]:
    at = int(column) - 1 if column.isdigit() else default
    words: list[str] = []
    tags: list[str] = []
    for number, line in numbered_lines(path):
        if is_blank(line) or line.startswith(DOCUMENT_START):
            if words:
                yield words, tags
            words, tags = [], []
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        words.append(cells[0])
        tags.append(_cell(cells, at, f"{path} line {number}"))
    if words:
        yield words, tags


def _cell(cells: Sequence[str], at: int, place: str) -> str:
    if len(cells) < 2 or at >= len(cells):
        raise InputError(
            f"{place}: {len(cells)} columns ({shorten(list(cells))})",
            wanted=f"a word and its tag in column {at + 1 if at >= 0 else 2}",
            do="name the tags' column with --column, from 1 on",
        )
    return cells[at]
