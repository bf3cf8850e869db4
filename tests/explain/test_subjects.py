"""What is explained, of every head: rows are the task's, words are the text's, numbers are the model's."""

from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import small_model

from unmask.data.examples import ChoiceExample, QuestionExample, TextExample
from unmask.data.tagged import untagged
from unmask.decode.embeddings import normalised
from unmask.errors import InputError
from unmask.explain.asked import Asked
from unmask.explain.erasure import leave_one_out
from unmask.explain.subject import Subject
from unmask.explain.subjects import subject_of
from unmask.explain.word_subjects import answer
from unmask.explain.words import explained_words
from unmask.model.folder import ModelFolder
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.kinds import task_of
from unmask.text.word_spans import word_spans

LONG = "the quick brown fox was not what they had hoped for and yet nobody was lazy . " * 4
EXAMPLES: list[tuple[str, dict[str, Any], Any]] = [
    ("classes", {}, TextExample("the foxs was lazy !")),
    ("classes", {"long_text": "windows"}, TextExample(LONG)),
    ("classes", {"long_text": "head+tail"}, TextExample(LONG, "they had hoped")),
    ("regression", {}, TextExample(LONG, LONG)),
    ("tokens", {}, untagged(LONG)),
    ("tags_crf", {}, untagged("the foxs was lazy in 北京")),
    ("span", {}, QuestionExample("what was lazy ?", LONG)),
    ("choice", {}, ChoiceExample("they had", ("hoped", "the foxs", "a dog , lazy"), question="what ?")),
    ("embedding", {"long_text": "windows"}, TextExample(LONG, "the fox")),
]
NAMED = {"tokens": "fox=PER", "tags_crf": "foxs=PER"}


def answer_of(opened: ModelFolder, example: Any) -> Any:
    task = task_of(opened.about, opened.config.positions)
    rows = task.rows([example], opened.tokenizer)
    assert isinstance(opened.model, BertWithHead)
    return task.answers([example], rows, outputs_of(opened.model, rows))[0]


@pytest.mark.parametrize(("head", "about", "example"), EXAMPLES)
def test_rows_are_those_of_the_task_that_say_something_of_the_target(
    head: str, about: dict[str, Any], example: Any
) -> None:
    opened = small_model(head, **about)
    subject = subject_of(opened, example, target=NAMED.get(head))
    rows = task_of(opened.about, opened.config.positions).rows([example], opened.tokenizer)
    expected = [(list(row.ids), list(row.segments)) for row in rows]
    found = [(list(row.ids), list(row.segments)) for row in subject.reading.rows]
    if head in ("tokens", "tags_crf", "span"):
        assert len(found) == len({row for row, _ in subject.target.places})
        assert all(row in expected for row in found)
    else:
        assert found == expected


def test_rows_left_out_change_nothing() -> None:
    opened, example = small_model("span"), QuestionExample("what was lazy ?", LONG)
    asked = Asked(opened, cast(BertWithHead, opened.model), example, "nobody was")
    whole = Subject(asked.model, opened.tokenizer, *answer(asked))
    less = subject_of(opened, example, target="nobody was")
    assert len(less.reading.rows) < len(whole.reading.rows)
    scores = dict(zip(whole.reading.words, leave_one_out(whole).scores.tolist(), strict=True))
    kept = dict(zip(less.reading.words, leave_one_out(less).scores.tolist(), strict=True))
    assert kept == pytest.approx({word: scores[word] for word in kept}, abs=1e-5)
    assert max(abs(scores[word]) for word in scores.keys() - kept.keys()) < 1e-5


@pytest.mark.parametrize(("head", "about", "example"), EXAMPLES)
def test_words_stand_where_they_say_and_are_in_order(head: str, about: dict[str, Any], example: Any) -> None:
    reading = subject_of(small_model(head, **about), example, target=NAMED.get(head)).reading
    for word in reading.words:
        assert word.text == reading.texts[word.part][word.start : word.end]
    places = [(word.part, word.start) for word in reading.words]
    assert places == sorted(set(places))
    assert set(reading.numbers.tolist()) == {-1, *range(len(reading.words))}


def everything(count: int) -> Any:
    return np.ones((1, count), bool)


def test_a_class_has_the_probability_that_the_model_gives_it() -> None:
    for about in ({"thresholds": {"temperature": 2.0}}, {"multi_label": True}, {"long_text": "windows"}):
        opened, example = small_model("classes", **about), TextExample(LONG, None)
        answer = answer_of(opened, example)
        subject = subject_of(opened, example)
        found = subject.probabilities(everything(len(subject.reading.words)))[0]
        assert found == pytest.approx(max(answer.probabilities.values()), abs=1e-5)
        assert found == pytest.approx(answer.probabilities[subject.target.label], abs=1e-5)


def test_the_chosen_ending_is_explained_and_any_other_can_be() -> None:
    opened, example = small_model("choice"), EXAMPLES[7][2]
    answer = answer_of(opened, example)
    subject = subject_of(opened, example)
    assert subject.target.label == example.endings[answer.choice]
    odds = []
    for ending in example.endings:
        subject = subject_of(opened, example, target=ending)
        odds.append(subject.probabilities(everything(len(subject.reading.words)))[0])
    assert sum(odds) == pytest.approx(1, abs=1e-5)
    assert int(np.argmax(odds)) == answer.choice


def test_a_value_and_a_similarity_are_those_of_the_model() -> None:
    example = TextExample("the fox", "a lazy dog")
    valued, embedded = (answer_of(small_model(head), example) for head in ("regression", "embedding"))
    first, second = normalised(embedded.vectors)
    for head, expected in (("regression", valued.value), ("embedding", float(first @ second))):
        subject = subject_of(small_model(head), example)
        assert subject.scores(everything(len(subject.reading.words)))[0] == pytest.approx(expected, abs=1e-5)


def test_of_two_texts_one_stays_while_the_other_is_altered() -> None:
    subject = subject_of(small_model("embedding"), TextExample("the fox was lazy", "a dog"))
    first, second = subject.sides()
    assert [word.text for word in second.reading.words] == ["a", "dog"]
    kept = np.array([[True, False, True, True]])
    expected = subject.scores(np.hstack([kept, everything(2)]))
    np.testing.assert_allclose(first.scores(kept), expected, atol=1e-6)
    assert subject_of(small_model("classes"), "the fox").sides()[0].reading.words[1].text == "fox"


def test_the_answer_is_explained_or_a_stretch_that_is_named() -> None:
    opened, example = small_model("span"), QuestionExample("what was lazy ?", LONG)
    assert subject_of(opened, example).target.label == answer_of(opened, example).answer
    named = subject_of(opened, example, target="nobody was")
    (row, start), (_, end) = named.target.places
    pieces = [opened.tokenizer.pieces[id] for id in named.reading.rows[row].ids[start : end + 1]]
    assert pieces == ["nobody", "was"]
    assert subject_of(opened, example, target="").target.places == ((0, 0), (0, 0))
    with pytest.raises(InputError, match="a stretch of the context"):
        subject_of(opened, example, target="a walrus")


def test_the_likeliest_word_is_explained_at_a_mask() -> None:
    opened = small_model("pretraining")
    text = "the [MASK] was lazy"
    subject = subject_of(opened, text)
    kept = everything(len(subject.reading.words))
    assert [word.text for word in subject.reading.words] == ["the", "was", "lazy"]
    odds = [subject_of(opened, text, target=piece).probabilities(kept)[0] for piece in opened.tokenizer.pieces]
    assert opened.tokenizer.pieces[int(np.argmax(odds))] == subject.target.label
    assert sum(odds) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("head", "example", "target", "wanted"),
    [
        ("classes", "the fox", "grand", "bad, fair, good"),
        ("classes", "", None, "a text with words"),
        ("regression", "the fox", "high", "none: this model says a value"),
        ("embedding", "the fox", None, "two, whose similarity is explained"),
        ("next_sentence", "the fox", None, "second may follow"),
        ("span", "what ?", None, "a question and the text"),
        ("masked_words", "the fox", None, r"\[MASK\] where the word is"),
        ("masked_words", "the [MASK]", "walrus", "one of 41"),
        ("tokens", "the fox", "Rome=PER", "whole words of the text"),
        ("tokens", "the fox", "walrus", "--target 'Rome=LOC'"),
        ("choice", "the fox", None, "a ChoiceExample"),
    ],
)
def test_what_cannot_be_explained_is_said(head: str, example: str, target: str | None, wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        subject_of(small_model(head), example, target=target)


def test_chinese_words_are_joined_where_asked_for() -> None:
    pytest.importorskip("jieba")
    opened = small_model("classes")
    apart, joined = (
        [word.text for word in subject_of(opened, "我们明天 go 北京", chinese_words=asked).reading.words]
        for asked in (False, True)
    )
    assert apart == ["我", "们", "明", "天", "go", "北", "京"]
    assert joined == ["我们", "明天", "go", "北京"]


@settings(max_examples=60)
@given(st.text("ab .,'-京北\u0301 [MASK]", max_size=30))
def test_words_of_any_text_do_not_overlap_and_leave_nothing_out(text: str) -> None:
    spans = explained_words(text, lambda text: [text[n : n + 2] for n in range(0, len(text), 2)])
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = {place for start, end in spans for place in range(start, end)}
    assert covered == {place for start, end in word_spans(text) for place in range(start, end)}
