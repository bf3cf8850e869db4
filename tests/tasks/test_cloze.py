"""Cloze: counting at the first place and among five, and what is refused."""

import pytest

from unmask.errors import InputError
from unmask.tasks.cloze import Gap, judge_gaps, read_gaps

GAPS = [Gap("snow is [MASK]", "white", "colour"), Gap("coal is [MASK]", "black", "colour"), Gap("[MASK]!", "hurrah")]
OFFERED = [["white", "cold", "wet", "deep", "new"], ["cold", "hot", "good", "new", "black"], ["a", "b", "c", "d", "e"]]


def test_first_place_and_first_five_are_counted() -> None:
    judged = judge_gaps(GAPS, fill=lambda _: OFFERED, piece=lambda answer: None if answer == "hurrah" else answer)
    assert (judged.accuracy, judged.accuracy_at_5) == pytest.approx((1 / 3, 2 / 3))
    assert (judged.examples, judged.longer, judged.categories) == (3, 1, {"colour": 0.5})
    assert judged.to_dict()["task"] == "cloze"


@pytest.mark.parametrize(
    "row", [{"text": "snow is white", "answer": "white"}, {"text": "[MASK] [MASK]", "answer": "a"}, {"text": "[MASK]"}]
)
def test_a_row_that_is_no_gap_is_named(row: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"gaps.jsonl line 2"):
        read_gaps([("gaps.jsonl line 2", row)])
