"""SQuAD's scores: by hand, and against slow accounts that count words and thresholds one by one."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.tasks.question_metrics import (
    AnswerScores,
    exact_match,
    find_best_threshold,
    normalised,
    squad1_scores,
    squad2_report,
    squad2_scores,
    word_f1,
    word_f1_or_nothing,
)

TEXT = st.lists(
    st.sampled_from(["a", "The", "an", "moon", "Moon,", "sun", "'s", "red", "—", "U.S.", " "]), max_size=5
).map(" ".join)
QUESTIONS = st.lists(
    st.tuples(st.lists(TEXT, max_size=3), TEXT, st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])), min_size=1, max_size=8
)


def slow_words(text: str) -> list[str]:
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return [word for word in kept.split() if word not in ("a", "an", "the")]


def slow_common(ours: list[str], theirs: list[str]) -> int:
    left = list(theirs)
    for word in ours:
        if word in left:
            left.remove(word)
    return len(theirs) - len(left)


@settings(max_examples=40, deadline=None)
@given(TEXT, TEXT)
def test_exact_match_and_f1_are_those_of_words_counted_one_by_one(answer: str, text: str) -> None:
    ours, theirs = slow_words(answer), slow_words(text)
    assert exact_match(answer, text) == (ours == theirs)
    common = slow_common(ours, theirs)
    assert word_f1(answer, text) == pytest.approx(2 * common / (len(ours) + len(theirs)) if common else 0, rel=1e-14)
    assert word_f1_or_nothing(answer, text) == (word_f1(answer, text) if ours and theirs else ours == theirs)


def test_normalisation_by_hand() -> None:
    assert normalised("The U.S.A.'s  An-swer:\ta 'theme'") == "usas answer theme"
    assert normalised("a an the") == ""
    assert normalised("“the” moon") == "“ ” moon"  # an article between marks that are not ASCII goes, they stay


def test_squad1_takes_the_answer_that_fits_best() -> None:
    scores = squad1_scores([["red moon", "the moon"], ["sun"], ["sea"]], ["Moon!", "red sun", None])
    assert scores.exact == (1.0, 0.0, 0.0)
    assert scores.f1 == (1.0, 2 / 3, 0.0)
    assert scores.report() == {"exact": 1 / 3, "f1": (1 + 2 / 3) / 3, "total": 3}


def test_an_answer_of_articles_only_counts_in_squad2_and_not_in_squad1_f1() -> None:
    assert squad1_scores([["the"]], ["a"]) == AnswerScores(exact=(1.0,), f1=(0.0,))
    assert squad2_scores([["the"]], ["a"]) == AnswerScores(exact=(1.0,), f1=(1.0,))


def test_squad2_wants_nothing_where_the_context_does_not_say() -> None:
    scores = squad2_scores([[], [], ["moon"], ["moon"]], ["", "moon", None, "the moon"])
    assert scores.exact == scores.f1 == (1.0, 0.0, 0.0, 1.0)


def test_a_squad2_report_by_hand() -> None:
    expected, texts = [["red moon"], ["sun"], [], []], ["moon", "sun", "sea", ""]
    report = squad2_report(expected, texts, [0.2, 0.8, 0.6, 0.9], threshold=0.7)
    # sun is over the threshold, so it counts as no answer; sea is under it
    assert (report["exact"], report["f1"], report["total"]) == (0.25, (2 / 3 + 0 + 0 + 1) / 4, 4)
    assert (report["has_answer_exact"], report["has_answer_f1"], report["has_answer_total"]) == (0.0, 1 / 3, 2)
    assert (report["no_answer_exact"], report["no_answer_f1"], report["no_answer_total"]) == (0.5, 0.5, 2)
    # nothing answered: 2; after moon 2, after sea 1, after sun 2: never better than answering nothing
    assert (report["best_exact"], report["best_exact_threshold"]) == (0.5, 0.0)
    # after moon 2 + 2/3
    assert (report["best_f1"], report["best_f1_threshold"]) == ((2 + 2 / 3) / 4, 0.2)


@settings(max_examples=40, deadline=None)
@given(QUESTIONS)
def test_the_best_threshold_is_the_best_of_all_ways_to_stop(questions: list[tuple[list[str], str, float]]) -> None:
    expected, texts, no_answer = (list(column) for column in zip(*questions, strict=True))
    has_answer = [bool(answers) for answers in expected]
    scores = squad2_scores(expected, texts).f1
    surest_first = sorted(range(len(scores)), key=lambda number: (no_answer[number], number))

    def total(answered: list[int]) -> float:
        kept = set(answered)
        return sum(
            (scores[number] if has_answer[number] else not texts[number]) if number in kept else not has_answer[number]
            for number in range(len(scores))
        )

    best, threshold = find_best_threshold(has_answer, texts, scores, no_answer)
    totals = [total(surest_first[:count]) for count in range(len(scores) + 1)]
    assert best == pytest.approx(max(totals) / len(scores), rel=1e-12)
    stops = [0.0, *(no_answer[number] for number in surest_first)]
    assert any(
        stop == threshold and value == pytest.approx(max(totals)) for stop, value in zip(stops, totals, strict=True)
    )


@settings(max_examples=40, deadline=None)
@given(QUESTIONS)
def test_answering_at_the_best_threshold_gives_the_best_score_when_no_two_are_equally_sure(
    questions: list[tuple[list[str], str, float]],
) -> None:
    expected, texts, _ = (list(column) for column in zip(*questions, strict=True))
    # a text that normalises to nothing counts as an answer for the threshold and as none for the score
    texts = [text if normalised(text) else "" for text in texts]
    sure = [(number + 1) / 10 for number in range(len(texts))]
    best = squad2_report(expected, texts, sure)
    assert squad2_report(expected, texts, sure, threshold=best["best_f1_threshold"])["f1"] == pytest.approx(
        best["best_f1"]
    )


def test_margins_of_logits_have_no_lowest_threshold() -> None:
    lowest = float("-inf")
    assert find_best_threshold([False, False], ["sea", "sun"], [0.0, 0.0], [-3.0, -1.0], lowest=lowest) == (1.0, lowest)
