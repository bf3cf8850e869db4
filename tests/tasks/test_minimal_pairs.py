"""Minimal pairs: counting, ties, groups, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.json_lines import read_json_lines
from unmask.errors import InputError
from unmask.tasks.minimal_pairs import Pair, judge_pairs, mean_by, read_pairs

PAIRS = [
    Pair("she walks", "she walk", paradigm="agreement", category="verbs"),
    Pair("they walk", "they walks", paradigm="agreement", category="verbs"),
    Pair("two cats", "two cat", paradigm="number", category="nouns"),
]


def test_accuracy_is_the_share_of_good_sentences_that_score_higher() -> None:
    judged = judge_pairs(PAIRS, lambda sentences: [len(sentence) for sentence in sentences])
    assert judged.accuracy == pytest.approx(2 / 3)
    assert judged.categories == {"nouns": 1.0, "verbs": 0.5}
    assert judged.category_mean == 0.75
    assert judged.paradigms == {"agreement": 0.5, "number": 1.0}


def test_a_tie_counts_half() -> None:
    assert judge_pairs(PAIRS, lambda sentences: [0.0] * len(sentences)).accuracy == 0.5


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_good_and_bad_exchanged_give_the_rest(scores: list[tuple[int, int]]) -> None:
    pairs = [Pair(f"good {i}", f"bad {i}", category="all") for i in range(len(scores))]
    there = judge_pairs(pairs, lambda _: [score for row in scores for score in row])
    back = judge_pairs(pairs, lambda _: [score for row in scores for score in row[::-1]])
    assert there.accuracy + back.accuracy == pytest.approx(1)
    assert there.accuracy == pytest.approx(there.categories["all"])


def test_the_answer_is_the_contracts_json() -> None:
    fields = judge_pairs(PAIRS, lambda sentences: [len(sentence) for sentence in sentences]).to_dict()
    assert list(fields) == ["task", "metric", "score", "examples", "category_mean", "categories", "paradigms"]
    assert (fields["task"], fields["metric"], fields["examples"]) == ("minimal_pairs", "accuracy", 3)


def test_without_categories_there_is_no_mean_of_them() -> None:
    assert "category_mean" not in judge_pairs([Pair("a", "b")], lambda _: [1.0, 0.0]).to_dict()


def test_a_limit_holds_for_each_paradigm() -> None:
    rows = [("here", vars(pair)) for pair in PAIRS]
    assert read_pairs(rows, limit=1) == [PAIRS[0], PAIRS[2]]


@pytest.mark.parametrize("row", [{"good": "a"}, {"good": "a", "bad": ""}, {"good": "a", "bad": 3}])
def test_a_row_that_is_no_pair_is_named(row: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"pairs.jsonl line 7"):
        read_pairs([("pairs.jsonl line 7", row)])


def test_what_has_no_name_is_in_no_group() -> None:
    assert mean_by(["", "a"], [0.0, 1.0]) == {"a": 1.0}


@pytest.mark.shared
def test_the_published_pairs_are_read(shared_data: Path) -> None:
    rows = [(f"line {number}", row) for number, row in read_json_lines(shared_data / "blimp" / "blimp.part.jsonl")]
    judged = judge_pairs(read_pairs(rows), lambda sentences: [-len(sentence.split()) for sentence in sentences])
    assert (judged.examples, len(judged.paradigms), len(judged.categories)) == (13_400, 67, 13)
    assert 0.5 < judged.accuracy < 0.6  # the good sentence is often the shorter one
