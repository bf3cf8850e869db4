"""Windows of contexts: every token is in one, places are those of the original text, targets are the answer's."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.examples import GivenAnswer, QuestionExample
from unmask.data.question_rows import WindowRow, question_rows
from unmask.errors import InputError
from unmask.model.named import find_model
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIGNS = "90°カナ"
PARTS = [*LETTERS, *SIGNS, *(f"##{letter}" for letter in LETTERS + SIGNS)]
TOKENIZER = Tokenizer([*SPECIAL_PIECES, *PARTS, "é", "天", "地", ".", ","])
CONTEXTS = st.text(alphabet="abcxyzÉé天地., \n\u00ad\ue000", max_size=60)


def rows_of(example: QuestionExample, longest: int = 16, stride: int = 4) -> list[WindowRow]:
    return question_rows(TOKENIZER, [example], longest=longest, stride=stride, longest_question=5)


@given(CONTEXTS, st.text("abc", max_size=9), st.integers(8, 30), st.integers(1, 20))
def test_windows_cover_every_token_in_order(context: str, question: str, longest: int, stride: int) -> None:
    encoding = TOKENIZER.encode(context)
    pieces = list(zip(encoding.ids[1:-1], encoding.offsets[1:-1], strict=True))
    covered: set[int] = set()
    for row in rows_of(QuestionExample(question, context), longest, stride):
        ids, size = list(row.ids), len(row.offsets)
        assert len(ids) == len(row.segments) == row.first + size + 1 <= longest
        window = list(zip(ids[row.first : -1], map(tuple, row.offsets.tolist()), strict=True))
        places = [start for start in range(len(pieces) - size + 1) if pieces[start : start + size] == window]
        assert places, "a window is a stretch of the context"
        covered.update(place + token for place in places for token in range(size))
    assert covered == set(range(len(pieces)))


@given(st.text(alphabet="abcÉé天カナ90°., \n", max_size=60), st.integers(8, 30))
def test_words_begin_and_end_where_no_letter_touches_another(context: str, longest: int) -> None:
    inside = {
        place
        for place in range(1, len(context))
        if all(letter in "abcÉé90" for letter in context[place - 1 : place + 1])
    }
    for row in rows_of(QuestionExample("b", context), longest):
        starts, ends = row.offsets.T.tolist() if len(row.offsets) else ([], [])
        assert row.begins.tolist() == [place not in inside for place in starts]
        assert row.finishes.tolist() == [place not in inside for place in ends]


def test_special_pieces_in_a_text_are_words() -> None:
    [row] = rows_of(QuestionExample("b", "ab[MASK][SEP]c"))
    assert row.begins.tolist() == [True, False, True, True, True]
    assert row.finishes.tolist() == [False, True, True, True, True]


@given(st.integers(1, 200), st.integers(8, 40), st.integers(1, 64), st.data())
def test_an_answer_of_half_a_window_is_whole_in_one(size: int, longest: int, stride: int, data: st.DataObject) -> None:
    room = longest - 3 - 1
    length = data.draw(st.integers(1, min(size, room - min(stride, room // 2))))
    start = data.draw(st.integers(0, size - length))
    context = "天" * size  # a piece a character
    example = QuestionExample("b", context, (GivenAnswer("天" * length, start),))
    assert (start, start + length) in [told(row) for row in rows_of(example, longest, stride)]


def told(row: WindowRow) -> tuple[int, int] | None:
    """The characters that a row's target stands for."""
    assert row.target is not None
    first, last = row.target.tolist()
    if (first, last) == (0, 0):
        return None
    return int(row.offsets[first - row.first][0]), int(row.offsets[last - row.first][1])


@given(CONTEXTS.filter(str.strip), st.data())
def test_targets_are_the_answer_widened_to_whole_pieces(context: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(start + 1, len(context)))
    example = QuestionExample("b", context, (GivenAnswer(context[start:end], start),))
    touched = [(first, last) for first, last in TOKENIZER.encode(context).offsets[1:-1] if first < end and last > start]
    (row,) = rows_of(example, longest=100)
    assert told(row) == ((touched[0][0], touched[-1][1]) if touched else None)


def test_a_question_is_in_segment_0_and_the_context_in_segment_1() -> None:
    (row,) = rows_of(QuestionExample("ab", "c d e"))
    assert [TOKENIZER.pieces[id] for id in row.ids] == ["[CLS]", "a", "##b", "[SEP]", "c", "d", "e", "[SEP]"]
    assert list(row.segments) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert (row.first, row.offsets.tolist(), row.target) == (4, [[0, 1], [2, 3], [4, 5]], None)


def test_what_a_context_shares_with_its_question_is_marked_in_every_window() -> None:
    asked = QuestionExample("a c", "c d a d e c")
    rows = question_rows(TOKENIZER, [asked], longest=9, stride=2, longest_question=5, marked=True)
    for row, plain in zip(rows, rows_of(asked, longest=9, stride=2), strict=True):
        assert (row.ids, row.target, row.first) == (plain.ids, plain.target, plain.first)
        shared = [TOKENIZER.pieces[id] in "ac" for id in row.ids[row.first : -1]]
        assert list(row.segments) == [0] * row.first + [1 + it for it in shared] + [1]


def test_a_window_without_the_whole_answer_points_at_its_beginning() -> None:
    example = QuestionExample("b", "a b c d e f g h i j k l m n", (GivenAnswer("g h", 12),))
    targets = [row.target.tolist() for row in rows_of(example, longest=10, stride=3) if row.target is not None]
    assert targets == [[0, 0], [6, 7], [3, 4], [0, 0]]  # windows from a, d, g and i on


@pytest.mark.parametrize("answers", [(), (GivenAnswer("not there", -1),)])
def test_no_answer_points_at_the_beginning(answers: tuple[GivenAnswer, ...]) -> None:
    (row,) = rows_of(QuestionExample("b", "a b c", answers))
    assert row.target is not None
    assert row.target.tolist() == [0, 0]


def test_the_first_answer_that_has_a_place_is_learned() -> None:
    (row,) = rows_of(QuestionExample("b", "a b c", (GivenAnswer("x", -1), GivenAnswer("b", 2), GivenAnswer("c", 4))))
    assert told(row) == (2, 3)


def test_a_long_question_is_cut_and_leaves_half_of_the_row() -> None:
    question = QuestionExample(" ".join(LETTERS), "x y")
    assert [row.first for row in rows_of(question)] == [2 + 5]
    assert [row.first for row in rows_of(question, longest=9)] == [2 + 3]


def test_an_empty_context_has_one_window_of_nothing() -> None:
    (row,) = rows_of(QuestionExample("b", " \n"))
    assert (len(row.ids), row.offsets.shape) == (4, (0, 2))


def test_rows_too_short_for_anything_are_refused() -> None:
    with pytest.raises(InputError, match="rows of 7 pieces; wanted at least 8"):
        rows_of(QuestionExample("b", "a"), longest=7)


def test_questions_share_the_pieces_of_their_context() -> None:
    context = " ".join("abcd" * 500)
    examples = [QuestionExample(letter, context, (GivenAnswer("a", 0),)) for letter in "abcde"]
    rows = question_rows(TOKENIZER, examples, longest=64, stride=32, longest_question=5)
    assert len({id(row.offsets.base) for row in rows}) == 1
    assert [row.example for row in rows] == sorted(row.example for row in rows)


def test_a_context_of_many_words_takes_memory_of_its_pieces_only() -> None:
    context = "a b c d e f g h " * 5000  # 40,000 words
    tracemalloc.start()
    rows = question_rows(TOKENIZER, [QuestionExample("b", context)], longest=384, stride=128, longest_question=64)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    tokens = sum(len(row.ids) for row in rows)
    assert held < 16 * tokens + 40_000 * 64, "8 bytes a token, and the pieces and offsets of the context once"


def questions_of(path: Path) -> list[QuestionExample]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    file: dict[str, Any] = json.loads(text)
    return [
        QuestionExample(
            entry["question"],
            paragraph["context"],
            tuple(GivenAnswer(answer["text"], answer["answer_start"]) for answer in entry["answers"]),
        )
        for article in file["data"]
        for paragraph in article["paragraphs"]
        for entry in paragraph["qas"]
    ]


@pytest.mark.shared
@pytest.mark.parametrize("file", ["squad/dev-v1.1.first-half.json.gz", "cmrc2018/trial.json"])
def test_published_answers_come_back_from_their_tokens(shared_data: Path, file: str) -> None:
    examples = [
        example
        for example in questions_of(shared_data / file)
        if example.answers and example.context[example.answers[0].start :].startswith(example.answers[0].text)
    ]
    tokenizer = Tokenizer.load(find_model("minilm"))
    found: dict[int, str] = {}
    for row in question_rows(tokenizer, examples, longest=384, stride=128, longest_question=64):
        if place := told(row):
            found[row.example] = examples[row.example].context[slice(*place)]
    answers = [example.answers[0].text for example in examples if example.answers]
    missed = [answer for number, answer in enumerate(answers) if number not in found]
    assert all(len(tokenizer.encode(answer).ids) - 2 > 384 - 64 - 3 - 128 for answer in missed)
    same = [words(found.get(number, "")) == words(answer) for number, answer in enumerate(answers)]
    print(file, np.mean(same), len(same), len(missed))
    assert np.mean(same) >= 0.99, f"{np.mean(same):.2%} of {len(same)}"


def words(text: str) -> list[str]:
    """Letters and digits alone, as the scores compare answers."""
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()
