"""CMRC 2018's scores: by hand, and against every stretch of an answer tried one by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.tasks.cmrc_metrics import (
    cmrc_scores,
    longest_common_run,
    run_f1,
    same_but_punctuation,
    units,
    without_punctuation,
)

UNITS = st.lists(st.sampled_from("红楼梦a"), max_size=8)


@settings(deadline=None)
@given(UNITS, UNITS)
def test_the_longest_common_run_is_the_longest_of_all_stretches(ours: list[str], theirs: list[str]) -> None:
    def stretches(sequence: list[str]) -> set[tuple[str, ...]]:
        places = range(len(sequence) + 1)
        return {tuple(sequence[first:after]) for first in places for after in places}

    assert longest_common_run(ours, theirs) == max(map(len, stretches(ours) & stretches(theirs)))


def test_units_are_characters_and_english_words() -> None:
    assert units("《BBC News》在1922年10月18日成立") == [
        *["bbc", "news", "在", "1922"],
        *"年",
        "10",
        "月",
        "18",
        *"日成立",
    ]
    assert units("约3.5万人（36%）") == ["约", "3.5", "万", "人", "36", "%"]
    assert units("Xi'an-1，西安") == ["xi'an1", "西", "安"]  # taking a mark away joins what it parted
    assert units(" ，。 ") == []


def test_only_the_scorers_own_punctuation_is_left_out() -> None:
    assert without_punctuation("A，B。C：D？E！「F」（G）·H、-_") == "abcdefgh"
    assert without_punctuation("a,b.c‘d’……【e】") == "a,b.c‘d……【e】"


@pytest.mark.parametrize(
    ("answer", "text", "exact", "f1"),
    [
        ("上海市", "上海市。", 1.0, 1.0),
        ("《红楼梦》", "红楼梦", 1.0, 1.0),
        ("1922年10月18日", "1922年10月", 0.0, 0.8),  # 4 units of 6: 1922 年 10 月
        ("白色的鲸鱼", "鲸鱼的白色", 0.0, 0.4),  # the same characters, but a run of two only
        ("上海", "北京", 0.0, 0.0),
        ("上海", "", 0.0, 0.0),
        ("BBC News", "bbc news", 1.0, 1.0),
    ],
)
def test_scores_by_hand(answer: str, text: str, exact: float, f1: float) -> None:
    assert same_but_punctuation(answer, text) == exact
    assert run_f1(answer, text) == pytest.approx(f1, rel=1e-15)


def test_a_question_takes_the_answer_that_fits_best_and_none_given_is_wrong() -> None:
    scores = cmrc_scores([["北京", "上海市"], ["北京", "上海市"], ["上海"]], ["上海市", "上海", None])
    assert scores.exact == (1.0, 0.0, 0.0)
    assert scores.f1 == (1.0, 0.8, 0.0)
