"""Span-F1: by hand, and against conlleval's own walk along the tags."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.decode.tags import convert, repair
from unmask.tasks.metrics import bootstrap_interval
from unmask.tasks.span_metrics import SpanScore, f1_of_sums, span_counts, span_f1, span_report

TAG = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
SENTENCES = st.lists(st.lists(st.tuples(TAG, TAG), max_size=8), max_size=5)


class Walk:
    """One side of conlleval's walk: does a span end before this tag, does one begin with it?"""

    def __init__(self) -> None:
        self.letter, self.type = "O", ""

    def step(self, tag: str) -> tuple[bool, bool, str, str]:
        letter, _, type_ = tag.partition("-")
        before, type_before = self.letter, self.type
        ends = before != "O" and (letter in "OB" or type_before != type_)
        begins = letter == "B" or (letter == "I" and (before == "O" or type_before != type_))
        self.letter, self.type = letter, type_
        return ends, begins, type_before, type_


def walk_of_conlleval(sentences: list[list[tuple[str, str]]]) -> tuple[int, int, int]:
    """Expected, given and right spans, counted in one pass with a flag, as the scorer does it."""
    expected, answers = Walk(), Walk()
    wanted = found = right = 0
    both = False
    for pair in [pair for rows in sentences for pair in [*rows, ("O", "O")]]:
        ends, begins, type_before, type_ = expected.step(pair[0])
        answer_ends, answer_begins, answer_type_before, answer_type = answers.step(pair[1])
        if both and ends and answer_ends and type_before == answer_type_before:
            right, both = right + 1, False
        elif both and (ends != answer_ends or type_ != answer_type):
            both = False
        both = both or (begins and answer_begins and type_ == answer_type)
        wanted, found = wanted + begins, found + answer_begins
    return wanted, found, right


@settings(max_examples=100, deadline=None)
@given(SENTENCES)
def test_spans_are_counted_as_conlleval_counts_them(sentences: list[list[tuple[str, str]]]) -> None:
    expected = [[tag for tag, _ in rows] for rows in sentences]
    answers = [[tag for _, tag in rows] for rows in sentences]
    report = span_report(expected, answers)
    wanted, found, right = walk_of_conlleval(sentences)
    assert report.overall == SpanScore(expected=wanted, given=found, right=right)
    assert sum(score.right for score in report.types.values()) == right
    precision, recall = (right / found if found else 0), (right / wanted if wanted else 0)
    f1 = 2 * precision * recall / (precision + recall) if right else 0
    assert span_f1(expected, answers) == report.overall.f1 == pytest.approx(f1, rel=1e-14)


def test_a_report_by_hand() -> None:
    expected = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "B-LOC", "O"]]
    answers = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "I-LOC", "B-ORG"]]
    report = span_report(expected, answers)
    assert report.overall == SpanScore(expected=4, given=4, right=1)
    assert list(report.types) == ["LOC", "ORG", "PER"]
    assert (report.types["LOC"].precision, report.types["LOC"].recall) == (0.5, 1 / 3)
    assert report.types["LOC"].f1 == 0.4
    assert report.types["ORG"] == SpanScore(expected=0, given=1, right=0)
    assert report.types["PER"].f1 == 0.0
    assert report.accuracy == 4 / 7


@settings(max_examples=30, deadline=None)
@given(SENTENCES)
def test_the_scheme_of_the_tags_does_not_change_the_score(sentences: list[list[tuple[str, str]]]) -> None:
    expected = [repair([tag for tag, _ in rows], "IOB2") for rows in sentences]
    answers = [[tag for _, tag in rows] for rows in sentences]
    score = span_f1(expected, answers)
    for scheme in ("IOB1", "BIOES"):
        as_scheme = [[convert(tags, "IOB2", scheme) for tags in side] for side in (expected, answers)]
        assert span_f1(*as_scheme, scheme) == score


def test_nothing_expected_and_nothing_given_scores_nothing() -> None:
    assert span_f1([["O"]], [["O"]]) == span_f1([], []) == 0.0
    assert span_report([], []).accuracy == 0.0


def test_a_sentence_drawn_again_counts_with_all_its_spans() -> None:
    expected = [["B-PER", "O", "B-LOC"]] * 30 + [["B-PER"]] * 10
    answers = [["B-PER", "O", "B-LOC"]] * 30 + [["O"]] * 10
    low, high = bootstrap_interval(span_counts(expected, answers), f1_of_sums)
    assert low < span_f1(expected, answers) < high < 1
