"""Answer spans: against every pair of tokens tried one by one; whole words only."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.decode.spans import Window, answered

CONTEXT = "abcdefghijklmnopqrstuvwxyz"


@st.composite
def question_windows(draw: st.DrawFn) -> list[Window]:
    """Overlapping windows of a context whose tokens are its letters, after [CLS] and a question of two tokens."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    breaks = draw(st.sets(st.integers(0, 26)) | st.just(set(range(27))))  # letters that a word begins with
    windows = []
    for _ in range(draw(st.integers(1, 3))):
        first, size = draw(st.integers(0, 20)), draw(st.integers(0, 6))
        tokens = 3 + size + 1
        in_context = np.zeros(tokens, bool)
        in_context[3 : 3 + size] = True
        letters = np.arange(first, first + size)
        offsets = np.zeros((tokens, 2), np.int64)
        offsets[3 : 3 + size] = np.stack([letters, letters + 1], 1)
        logits = chance.normal(size=(2, tokens)).astype(np.float32)
        begins, finishes = np.zeros((2, tokens), bool)
        begins[3 : 3 + size] = [letter in breaks for letter in letters]
        finishes[3 : 3 + size] = [letter + 1 in breaks for letter in letters]
        windows.append(Window(logits[0], logits[1], in_context, offsets, begins, finishes))
    return windows


def every_span(windows: list[Window], max_tokens: int, whole: bool = True) -> list[tuple[float, int, int]]:
    best: dict[tuple[int, int], float] = {}
    for window in windows:
        inside = [token for token in range(len(window.starts)) if window.in_context[token]]
        for first in inside:
            for last in inside:
                words = window.begins[first] and window.finishes[last]
                if first <= last < first + max_tokens and (words or not whole):
                    place = int(window.offsets[first][0]), int(window.offsets[last][1])
                    score = float(window.starts[first]) + float(window.ends[last])
                    best[place] = max(best.get(place, -math.inf), score)
    return sorted(((score, *place) for place, score in best.items()), reverse=True)


@settings(deadline=None)
@given(question_windows(), st.integers(1, 8), st.integers(1, 5), st.one_of(st.none(), st.floats(-3, 3)))
def test_the_answer_is_the_best_of_all_spans_tried(
    windows: list[Window], top: int, max_tokens: int, threshold: float | None
) -> None:
    found = answered(CONTEXT, windows, threshold=threshold, top=top, max_tokens=max_tokens)
    spans = (every_span(windows, max_tokens) or every_span(windows, max_tokens, whole=False))[:top]
    assert [(span.start, span.end) for span in found.nbest] == [(start, end) for _, start, end in spans]
    if not spans:
        assert found.answer is None
        assert found.no_answer_probability == 1
        return
    nothing = min(float(window.starts[0]) + float(window.ends[0]) for window in windows)
    scores = [score for score, _, _ in spans] + ([] if threshold is None else [nothing])
    total = sum(math.exp(score) for score in scores)
    assert [span.score for span in found.nbest] == pytest.approx([math.exp(score) / total for score, _, _ in spans])
    assert found.margin == pytest.approx(spans[0][0] - nothing)
    assert found.no_answer_probability == pytest.approx(0 if threshold is None else math.exp(nothing) / total)
    if threshold is not None and spans[0][0] - nothing < threshold:
        assert (found.answer, found.start, found.end) == (None, None, None)
        assert found.score == found.no_answer_probability
    else:
        assert found.answer == CONTEXT[found.start : found.end]
        assert (found.start, found.end, found.score) == (spans[0][1], spans[0][2], found.nbest[0].score)


@settings(deadline=None)
@given(question_windows(), st.integers(1, 5))
def test_whole_words_never_cost_an_answer_that_is_made_of_them(windows: list[Window], max_tokens: int) -> None:
    of_pieces = every_span(windows, max_tokens, whole=False)
    of_words = {(start, end) for _, start, end in every_span(windows, max_tokens)}
    found = answered(CONTEXT, windows, max_tokens=max_tokens)
    if of_pieces and of_pieces[0][1:] in of_words:
        assert (found.start, found.end) == of_pieces[0][1:]


def window_of(starts: list[float], ends: list[float], begins: list[bool] | None = None) -> Window:
    """A window of letters; without `begins` each of them is a word."""
    tokens = len(starts)
    offsets = np.array([[0, 0], *([token, token + 1] for token in range(tokens - 1))])
    in_context = np.arange(tokens) > 0
    first = np.array([False, *begins]) if begins else in_context
    last = np.array([False, *begins[1:], True]) if begins else in_context
    return Window(np.array(starts), np.array(ends), in_context, offsets, first, last)


def test_an_answer_is_made_of_whole_words() -> None:
    starts, ends = [0, 1, 0, 9.0, 2], [0, 9.0, 0, 3, 1]  # the likeliest begins with the second piece of "bc"
    assert answered("abcd", [window_of(starts, ends)]).answer == "c"
    found = answered("abcd", [window_of(starts, ends, [True, True, False, True])])
    assert found.answer == "a"
    assert {span.answer for span in found.nbest} == {"a", "bc", "d", "abc", "bcd", "abcd"}


def test_an_answer_stands_within_one_paragraph() -> None:
    context = "in 1874.\n \nOld Ann"
    offsets = np.array([[0, 0], [3, 7], [7, 8], [11, 14], [15, 18]])
    inside = offsets[:, 1] > 0
    starts, ends = np.array([0, 9, 0, 1, 0.0]), np.array([0, 4, 0, 5, 9.0])  # best of all: from 1874 to Ann
    window = Window(starts, ends, inside, offsets, inside, inside)
    assert answered(context, [window]).answer == "1874"
    assert not any("\n" in span.answer for span in answered(context, [window]).nbest)
    assert answered(context.replace("\n \n", " \n "), [window]).answer == "1874. \n Old Ann"  # lines are no paragraphs


def test_what_a_window_has_ahead_chooses_among_windows_and_never_whether_there_is_an_answer() -> None:
    offsets = np.array([[0, 0], [0, 1]])
    inside = np.array([False, True])
    first = Window(np.array([0, 3.0]), np.array([0, 3.0]), inside, offsets, inside, inside)
    other = replace(first, starts=np.array([0, 1.0]), offsets=np.array([[0, 0], [1, 2]]))
    assert answered("ab", [first, other]).answer == "a"
    ahead = answered("ab", [first, replace(other, ahead=9.0)], threshold=0.0)
    assert (ahead.answer, ahead.margin) == ("b", 4.0)
    assert answered("ab", [first, replace(other, ahead=9.0)], threshold=5.0).answer is None


def test_of_one_word_that_is_too_long_a_part_is_answered() -> None:
    window = window_of([0, 1, 5, 0], [0, 1, 5, 0], [True, False, False])
    assert answered("abc", [window], max_tokens=2).answer == "b"
    assert answered("abc", [window], max_tokens=3).answer == "abc"


def test_no_answer_takes_the_smallest_score_over_windows() -> None:
    windows = [window_of([5.0, 1.0], [5.0, 1.0]), window_of([1.0, 0.0], [0.5, 0.0])]
    found = answered("ab", windows, threshold=0.0)
    assert found.margin == 0.5
    assert found.answer == "a"
    assert answered("ab", windows, threshold=0.5).answer == "a"
    assert answered("ab", windows, threshold=0.6).answer is None


def test_an_end_before_its_start_is_no_span() -> None:
    found = answered("ab", [window_of([0, 0, 9], [0, 9, 0])])
    assert [(span.start, span.end) for span in found.nbest] == [(0, 1), (1, 2), (0, 2)]


def test_an_empty_context_has_no_answer_and_is_json() -> None:
    found = answered("", [window_of([1.0], [1.0])])
    assert json.loads(json.dumps(found.to_dict())) == {
        "answer": None,
        "start": None,
        "end": None,
        "score": 1.0,
        "no_answer_probability": 1.0,
        "nbest": [],
    }


def test_the_answer_is_json_in_the_words_of_the_contract() -> None:
    told = json.loads(json.dumps(answered("ab", [window_of([0, 1, 0], [0, 0, 1])], top=1, threshold=0.0).to_dict()))
    assert list(told) == ["answer", "start", "end", "score", "no_answer_probability", "nbest"]
    assert told["nbest"] == [{"answer": "ab", "start": 0, "end": 2, "score": told["score"]}]
