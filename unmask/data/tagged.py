"""Tagged sentences: CoNLL columns, a character a line in Chinese, or json lines come in; tagged examples go out.

Columns have the word first and the tag last, a blank line between sentences and `-DOCSTART-` between documents. Json
lines have `tokens` and `tags`, or a `text` and `spans` of characters, which become IOB2 tags of its words.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from unmask.data.cells import is_blank, no_examples, shorten, text_cell
from unmask.data.examples import Reading, TaggedExample
from unmask.data.json_lines import read_json_lines
from unmask.data.text_lines import numbered_lines
from unmask.errors import InputError
from unmask.text.formats import LONE_SURROGATE, format_of
from unmask.text.tokenizer import is_chinese
from unmask.text.word_spans import word_spans

TAG = re.compile(r"O|[BIES]-\S.*")
DOCUMENT_START = "-DOCSTART-"
# Weibo NER writes behind each character its number in the word: 科0 技1
NUMBERED_CHARACTER = re.compile(r"(\D+|\d)\d+")

Spans = tuple[tuple[int, int], ...]


def read_tagged(path: Path, *, columns: Mapping[str, str] | None = None, labelled: bool = True) -> Reading:
    """The sentences of a file; `columns` maps tokens, tags, text or spans to the names that json lines use.

    Where tags are not asked for they are not read, and a file of plain text is a sentence a line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "eng.train"
    >>> _ = file.write_text("Ann NNP B-PER\\nsang VBD O\\n")
    >>> read_tagged(file).examples
    (TaggedExample(text='Ann sang', words=((0, 3), (4, 8)), tags=('B-PER', 'O'), document=0),)
    """
    notes: tuple[str, ...] = ()
    if format_of(path) == "jsonl":
        placed, notes = _json_examples(path, {name: name for name in JSON_COLUMNS} | dict(columns or {}), labelled)
    elif labelled or _has_columns(path):
        placed = list(_column_examples(path, labelled))
    else:
        placed = [(f"{path} line {number}", untagged(text)) for number, text in numbered_lines(path, strict=False)]
    if not placed:
        raise no_examples(path, "sentences of words and tags" if labelled else "sentences")
    places, examples = zip(*placed, strict=True)
    return Reading(examples, notes, places)


def untagged(text: str) -> TaggedExample:
    """A plain text whose words are to be tagged.

    >>> untagged("Ann sang").words
    ((0, 3), (4, 8))
    """
    return TaggedExample(text, word_spans(text))


def join_words(words: Sequence[str]) -> tuple[str, Spans]:
    """Words as a text, and where each stands: a blank between two, but none beside Chinese characters and marks.

    >>> join_words(["北", "京", "Expo", "2010"])
    ('北京Expo 2010', ((0, 1), (1, 2), (2, 6), (7, 11)))
    """
    pieces, spans, position = [words[0]], [(0, len(words[0]))], len(words[0])
    for before, word in pairwise(words):
        if not (_stands_alone(before[-1:]) or _stands_alone(word[:1])):
            pieces.append(" ")
            position += 1
        pieces.append(word)
        spans.append((position, position + len(word)))
        position += len(word)
    return "".join(pieces), tuple(spans)


@lru_cache(maxsize=1 << 16)
def _stands_alone(character: str) -> bool:
    """Whether a character is a word by itself that is written without blanks; letters of double width are not."""
    wide_mark = "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef"
    return is_chinese(character) or (wide_mark and unicodedata.category(character)[0] == "P")


class _Sentence(NamedTuple):
    """Lines of a column file up to a blank one."""

    line: int
    words: list[str]
    tags: list[str]
    document: int


def _column_examples(path: Path, labelled: bool) -> Iterator[tuple[str, TaggedExample]]:
    sentences = list(_column_sentences(path))
    marked = any(sentence.document for sentence in sentences)
    numbered = all(NUMBERED_CHARACTER.fullmatch(word) for sentence in sentences for word in sentence.words)
    for number, (line, words, tags, document) in enumerate(sentences):
        if numbered:
            words = [NUMBERED_CHARACTER.sub(r"\1", word) for word in words]
        text, spans = join_words(words)
        # without marks nothing says that neighbours belong together
        example = TaggedExample(text, spans, tuple(tags) if labelled else None, document - 1 if marked else number)
        yield f"{path} line {line}", example


def _column_sentences(path: Path) -> Iterator[_Sentence]:
    known: set[str] = set()
    width, document = 0, 0
    sentence = _Sentence(1, [], [], 0)
    for number, line in numbered_lines(path):
        if is_blank(line) or line.startswith(DOCUMENT_START):
            document += line.startswith(DOCUMENT_START)
            if sentence.words:
                yield sentence
            sentence = _Sentence(number + 1, [], [], document)
            continue
        cells = _cells(line)
        width = width or len(cells)
        if len(cells) != width or width < 2:
            got = f"{path} line {number}: {len(cells)} columns ({shorten(cells)})"
            raise InputError(got, wanted=f"{max(width, 2)} columns, the word first and the tag last")
        if cells[-1] not in known:
            check_tag(cells[-1], f"{path} line {number}")
            known.add(cells[-1])
        sentence.words.append(cells[0])
        sentence.tags.append(cells[-1])
    if sentence.words:
        yield sentence


def _cells(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def _has_columns(path: Path) -> bool:
    """Whether the first line that says anything is a word with its tag."""
    for _, line in numbered_lines(path):
        if not is_blank(line):
            cells = _cells(line)
            return line.startswith(DOCUMENT_START) or (len(cells) > 1 and bool(TAG.fullmatch(cells[-1])))
    return False


def check_tag(tag: Any, place: str) -> str:
    """The tag, if it is one.

    >>> check_tag("B-PER", "line 3")
    'B-PER'
    """
    if not isinstance(tag, str) or not TAG.fullmatch(tag):
        wanted = "O, or B-, I-, E- or S- and a type, as in B-PER"
        raise InputError(f"{place}: tag {tag!r}", wanted=wanted, do="write the tags in IOB or BIOES form")
    return tag


JSON_COLUMNS = ("tokens", "tags", "text", "spans")


def _json_examples(
    path: Path, names: Mapping[str, str], labelled: bool
) -> tuple[list[tuple[str, TaggedExample]], tuple[str, ...]]:
    placed: list[tuple[str, TaggedExample]] = []
    faults: dict[str, list[str]] = {}
    for line, row in read_json_lines(path):
        place = f"{path} line {line}"
        if names["tokens"] in row:
            example = _of_tokens(place, row, names, labelled)
        elif names["text"] in row:
            example, found = _of_spans(place, row, names, labelled)
            for fault in found:
                faults.setdefault(fault, []).append(place)
        else:
            wanted = f"'{names['tokens']}' and '{names['tags']}', or '{names['text']}' and '{names['spans']}'"
            raise InputError(f"{place} with columns {shorten(row, 20)}", wanted=wanted, do="name them with --columns")
        if example.words or not labelled:
            placed.append((place, TaggedExample(example.text, example.words, example.tags, len(placed))))
        else:
            faults.setdefault("empty texts left out", []).append(place)
    return placed, tuple(f"{len(places)} {fault} (first: {places[0]})" for fault, places in faults.items())


def _of_tokens(place: str, row: Mapping[str, Any], names: Mapping[str, str], labelled: bool) -> TaggedExample:
    tokens = row[names["tokens"]]
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise InputError(f"{place}, column '{names['tokens']}'", wanted="a list of words")
    text, spans = join_words([LONE_SURROGATE.sub("\ufffd", token) for token in tokens]) if tokens else ("", ())
    if not labelled:
        return TaggedExample(text, spans)
    tags = row.get(names["tags"])
    if not isinstance(tags, list) or len(tags) != len(tokens):
        got = f"{place}: {len(tokens)} words and {len(tags) if isinstance(tags, list) else 'no'} tags"
        raise InputError(got, wanted="one tag for each word")
    return TaggedExample(text, spans, tuple(check_tag(tag, place) for tag in tags))


def _of_spans(
    place: str, row: Mapping[str, Any], names: Mapping[str, str], labelled: bool
) -> tuple[TaggedExample, list[str]]:
    text = text_cell(place, row, names["text"])
    words = word_spans(text)
    if not labelled:
        return TaggedExample(text, words), []
    spans = row.get(names["spans"])
    if not isinstance(spans, list):
        raise InputError(f"{place} without a list '{names['spans']}'", wanted="[{start, end, type}, …]")
    checked = [_checked_span(span, f"{place}, spans[{number}]", len(text)) for number, span in enumerate(spans)]
    tags, faults = tag_spans(words, checked)
    return TaggedExample(text, words, tags), faults


def _checked_span(span: Any, place: str, length: int) -> tuple[int, int, str]:
    try:
        start, end, type = span["start"], span["end"], span["type"]
    except (TypeError, KeyError):
        raise InputError(f"{place}: {span!r}", wanted="an object with start, end and type") from None
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= length):
        raise InputError(f"{place}: {start!r} to {end!r} in a text of {length} characters", wanted="a part of the text")
    check_tag(f"B-{type}", place)
    return start, end, type


def tag_spans(words: Spans, spans: Sequence[tuple[int, int, str]]) -> tuple[tuple[str, ...], list[str]]:
    """IOB2 tags of words for spans of characters, and what did not fit: spans are widened to whole words.

    >>> tag_spans(((0, 3), (4, 8), (8, 9)), [(0, 6, "PER")])
    (('B-PER', 'I-PER', 'O'), ['spans that cut words widened to whole words'])
    """
    starts, ends = [start for start, _ in words], [end for _, end in words]
    tags = ["O"] * len(words)
    faults: Counter[str] = Counter()
    for start, end, type in sorted(spans):
        first, after = bisect_right(ends, start), bisect_left(starts, end)
        if first >= after:
            faults["spans without a word left out"] += 1
        elif any(tag != "O" for tag in tags[first:after]):
            faults["spans that overlap an earlier one left out"] += 1
        else:
            faults["spans that cut words widened to whole words"] += starts[first] < start or ends[after - 1] > end
            tags[first:after] = [f"B-{type}", *[f"I-{type}"] * (after - first - 1)]
    return tuple(tags), list(faults.elements())
