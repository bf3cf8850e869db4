"""Questions on contexts as rows: `[CLS] question [SEP] window of the context [SEP]`, windows that cover all of it.

Questions with their contexts come in; rows go out that know which characters of the context their tokens stand for, and
in training between which tokens the answer lies. A context is encoded once, however many questions are asked of it.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.data.examples import GivenAnswer, QuestionExample
from unmask.data.rows import Row, window_starts
from unmask.errors import InputError
from unmask.text.tokenizer import WIDE, Tokenizer

SHORTEST = 8  # pieces of a row; fewer leave no room for a question and a context
AT_ONCE = 256  # contexts encoded together: enough for all cores, few enough that the library's own form stays small
OF_WORDS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"})  # letters, their marks and figures
UNSPACED = re.compile(f"[{WIDE}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # also Thai, Lao, Burmese, Khmer
SHARED = 2  # the segment of what a question and its context share
NOWHERE = (0, 0)  # start and end of what is not in a window: its [CLS]


class Pieces(NamedTuple):
    """A context's pieces, the characters that each stands for, and where its words begin and end."""

    ids: list[int]  # (n,)
    offsets: NDArray[np.int32]  # (n, 2)
    begins: NDArray[np.bool_]  # (n,) the first piece of a word
    finishes: NDArray[np.bool_]  # (n,) the last piece of a word


@dataclass(frozen=True, kw_only=True)
class WindowRow(Row):
    """A question with one window of its context."""

    first: int  # the token that the window begins with
    offsets: NDArray[np.int32]  # (tokens of the window, 2) characters of the whole context; a view, not a copy
    begins: NDArray[np.bool_]  # (tokens of the window,) a word begins here; a view as well
    finishes: NDArray[np.bool_]  # (tokens of the window,) a word ends here


def question_rows(
    tokenizer: Tokenizer,
    examples: Sequence[QuestionExample],
    *,
    longest: int,
    stride: int,
    longest_question: int,
    marked: bool = False,
) -> list[WindowRow]:
    """The rows of questions, in their order; where answers are known the first one whose place is known is the target.

    If `marked`, pieces of the context that the question has too are of a third segment.

    A window begins `stride` pieces behind the one before, or half a window where that is less: an answer of up to
    half a window is then whole in one of them.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "who", "ann", "sang", "and", "we", "ate"])
    >>> asked = QuestionExample("Who?", "Ann sang and we ate", (GivenAnswer("we", 13),))
    >>> for row in question_rows(tokenizer, [asked], longest=8, stride=2, longest_question=2):
    ...     text = " ".join(tokenizer.pieces[id] for id in row.ids)
    ...     print(text, row.target, row.offsets[0])
    [CLS] who [UNK] [SEP] ann sang and [SEP] [0 0] [0 3]
    [CLS] who [UNK] [SEP] sang and we [SEP] [6 6] [4 8]
    [CLS] who [UNK] [SEP] and we ate [SEP] [5 5] [ 9 12]
    """
    if longest < SHORTEST:
        raise InputError(f"rows of {longest} pieces", wanted=f"at least {SHORTEST} for a question and its context")
    contexts = encode_contexts(tokenizer, dict.fromkeys(example.context for example in examples))
    questions = tokenizer.ids_batch([example.question for example in examples])
    most = min(longest_question, (longest - 3) // 2)
    rows: list[WindowRow] = []
    for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
        head = [tokenizer.cls_id, *question[:most], tokenizer.sep_id]
        own = _windows(number, example, head, contexts[example.context], longest, stride, tokenizer.sep_id)
        rows += [replace(row, segments=mark_shared(row)) for row in own] if marked else own
    return rows


def mark_shared(row: WindowRow) -> tuple[int, ...]:
    """The row's segments, with 2 for pieces of its window that its question has too.

    >>> no = np.zeros(0, np.bool_)
    >>> asked = [2, 7, 8, 3]
    >>> row = WindowRow([*asked, 8, 9, 3], _segments(4, 7), 0, first=4, offsets=no, begins=no, finishes=no)
    >>> mark_shared(row)
    (0, 0, 0, 0, 2, 1, 1)
    """
    asked = frozenset(row.ids[1 : row.first - 1])
    window = (SHARED if id in asked else 1 for id in row.ids[row.first : -1])
    return (*row.segments[: row.first], *window, 1)


def encode_contexts(tokenizer: Tokenizer, contexts: dict[str, None]) -> dict[str, Pieces]:
    """The pieces of each context, without `[CLS]` and `[SEP]`.

    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> encode_contexts(Tokenizer([*SPECIAL_PIECES, "a", "b"]), {"a b": None})["a b"].offsets.tolist()
    [[0, 1], [2, 3]]
    """
    found: dict[str, Pieces] = {}
    texts = list(contexts)
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        for text, encoding in zip(some, tokenizer.encode_batch(some), strict=True):
            offsets = np.array(encoding.offsets[1:-1], dtype=np.int32).reshape(-1, 2)
            goes_on = going_on(text, offsets, np.array(encoding.word_ids[1:-1], dtype=np.int32))
            found[text] = Pieces(list(encoding.ids[1:-1]), offsets, ~goes_on[:-1], ~goes_on[1:])
    return found


def going_on(text: str, offsets: NDArray[np.int32], words: NDArray[np.int32]) -> NDArray[np.bool_]:
    """For each place before, between and after the pieces of a text, whether a word goes on there.

    Words are those of WordPiece, divided further between a figure and a sign (`90` of `90°`), and at every character of
    scripts that are written without blanks.

    >>> going_on("unable", np.array([[0, 2], [2, 6]], np.int32), np.array([0, 0], np.int32)).tolist()
    [False, True, False]
    >>> going_on("90°", np.array([[0, 2], [2, 3]], np.int32), np.array([0, 0], np.int32)).tolist()
    [False, False, False]
    """
    found = np.zeros(len(words) + 1, np.bool_)  # (n + 1,)
    for piece in np.flatnonzero(words[1:] == words[:-1]) + 1:
        around = text[offsets[piece - 1, 1] - 1] + text[offsets[piece, 0]]
        found[piece] = all(unicodedata.category(letter) in OF_WORDS for letter in around) and not UNSPACED.search(
            around
        )
    return found


def answer_pieces(answer: GivenAnswer, offsets: NDArray[np.int32]) -> tuple[int, int] | None:
    """The first and the last piece that an answer has a character of; none where no piece stands for any of them.

    >>> answer_pieces(GivenAnswer("able", 5), np.array([[0, 2], [2, 6], [6, 9]], np.int32))
    (1, 2)
    """
    first = int(np.searchsorted(offsets[:, 1], answer.start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], answer.start + len(answer.text), side="left")) - 1
    return (first, last) if first <= last else None


def _windows(
    number: int, example: QuestionExample, head: list[int], context: Pieces, longest: int, stride: int, sep_id: int
) -> list[WindowRow]:
    """The rows of one question, which `head` is the beginning of."""
    room = longest - len(head) - 1
    known = example.answers is not None
    answer = next((answer for answer in example.answers or () if answer.start >= 0), None)
    span = None if answer is None else answer_pieces(answer, context.offsets)
    rows = []
    for start in window_starts(len(context.ids), room, min(stride, max(1, room // 2))):
        ids = [*head, *context.ids[start : start + room], sep_id]
        rows.append(
            WindowRow(
                ids,
                _segments(len(head), len(ids)),
                number,
                _target(span, start, len(ids) - len(head) - 1, len(head)) if known else None,
                first=len(head),
                offsets=context.offsets[start : start + room],
                begins=context.begins[start : start + room],
                finishes=context.finishes[start : start + room],
            )
        )
    return rows


def _target(span: tuple[int, int] | None, start: int, size: int, first: int) -> NDArray[np.int64]:
    """Start and end of the answer among a row's tokens, if its window of `size` pieces from `start` on holds it whole.

    >>> _target((5, 7), start=4, size=4, first=10), _target((5, 7), start=4, size=3, first=10)
    (array([11, 13]), array([0, 0]))
    """
    if span is None or span[0] < start or span[1] >= start + size:
        return np.array(NOWHERE)
    return np.array([span[0] - start + first, span[1] - start + first])


@lru_cache(maxsize=4096)
def _segments(first: int, length: int) -> tuple[int, ...]:
    """Segments of a row; most rows share theirs with another."""
    return (0,) * first + (1,) * (length - first)
