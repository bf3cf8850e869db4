"""Distillation: each lesson by a slow second opinion, students that learn from teachers, with labels and without."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scoring import score
from stores import EXAMPLES, TASK, TEXTS, TOKENIZER, classifier, config, model
from torch import nn

from unmask.compress.agreement import agreement
from unmask.compress.distil import Distilled, Distilling, no_target
from unmask.compress.learning import AGAIN, FRESH, distil, learn
from unmask.compress.lessons import LESSONS, relations, several_classes
from unmask.compress.plain_text import PlainText, hide_words
from unmask.compress.student import parse_size, student_of
from unmask.data.examples import ChoiceExample, QuestionExample, TaggedExample, TextExample
from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model.bert import Bert
from unmask.model.heads import BertWithHead, make_head
from unmask.model.outputs import outputs_of
from unmask.tasks.answering import Answering
from unmask.tasks.choosing import Choosing
from unmask.tasks.embedding import TextEmbedding
from unmask.tasks.regression import Regression
from unmask.tasks.tagging import Tagging
from unmask.tasks.task import Task, make_batch

UNLABELLED = [TextExample(text) for text in TEXTS]
SMALL = config(width=16, layers=2, heads=2, feed_forward=32)
ASKED: dict[str, tuple[Task, list[object]]] = {
    "classes": (TASK, UNLABELLED[:5]),
    "regression": (Regression(longest=16), UNLABELLED[:5]),
    "tokens": (
        Tagging(("O", "B-X", "I-X"), longest=16),
        [TaggedExample("the bakery", ((0, 3), (4, 10))), TaggedExample("clean", ((0, 5),))],
    ),
    "tags_crf": (Tagging(("O", "B-X", "I-X"), longest=16, head="tags_crf"), [TaggedExample("slow", ((0, 4),))]),
    "span": (Answering(longest=24, stride=4), [QuestionExample("who", "the bakery is clean")]),
    "choice": (
        Choosing(longest=16),
        [ChoiceExample("the", ("bakery", "market", "is very")), ChoiceExample("is", ("a",))],
    ),
    "embedding": (TextEmbedding(longest=16), UNLABELLED[:5]),
    "masked_words": (PlainText("masked_words", 16), UNLABELLED[:5]),
}


def _with(task: Task, head: str, seed: int, **changes: object) -> BertWithHead:
    shape = config(initial_deviation=0.2, **changes)
    return BertWithHead(Bert(shape, seed), make_head(head, shape, outputs=task.outputs or 2, seed=seed)).eval()


@pytest.mark.parametrize("head", ASKED)
def test_every_head_has_a_lesson_that_a_like_student_knows_already_and_another_learns_from(head: str) -> None:
    task, examples = ASKED[head]
    wrapped = Distilled(task, labelled=False)
    teacher = _with(task, head, seed=1)
    batch = make_batch(wrapped.rows(examples, TOKENIZER), wrapped.per_token)
    same = Distilling(teacher, wrapped, teacher=teacher, tokenizer=TOKENIZER)(batch, None)[0]
    assert same.keys() == wrapped.counts(batch).keys() == {"outputs", "hidden", "relations"}
    assert all(abs(loss.item()) < 1e-4 for loss in same.values())
    other = Distilling(_with(task, head, seed=2, width=16), wrapped, teacher=teacher, tokenizer=TOKENIZER)
    losses, _ = other(batch, None)
    assert all(loss.item() > 2e-4 for loss in losses.values())
    sum(losses.values()).backward()
    reached = {name for name, value in other.named_parameters() if value.grad is not None}
    unread = {"model.bert.pooler.weight", "model.bert.pooler.bias"}  # by heads that read tokens
    assert set(dict(other.named_parameters())) - reached <= unread
    assert all(value.grad is None for value in teacher.parameters())


def test_relations_are_those_of_each_sequence_by_itself() -> None:
    generator = torch.Generator().manual_seed(0)
    given, expected = torch.randn(7, 3 * 8, generator=generator), torch.randn(7, 3 * 12, generator=generator)
    slow = 0.0
    for start, end in ((0, 2), (2, 4), (4, 7)):
        for part in range(3):
            for head in range(4):
                mine = given[start:end, part * 8 + head * 2 : part * 8 + head * 2 + 2]
                theirs = expected[start:end, part * 12 + head * 3 : part * 12 + head * 3 + 3]
                p, q = (torch.softmax(x @ x.T / x.shape[1] ** 0.5, -1) for x in (theirs, mine))
                slow += float((p * (p.log() - q.log())).sum()) / 12
    assert float(relations(given, expected, ((2, 2), (1, 3)))) == pytest.approx(slow, rel=1e-5)


def test_a_span_is_compared_among_the_tokens_of_its_own_row() -> None:
    batch = make_batch(
        [replace(row, target=np.zeros(2, np.int64)) for row in ASKED["span"][0].rows(ASKED["span"][1], TOKENIZER)],
        False,
    )
    tokens = len(batch.ragged.ids)
    given, expected = torch.randn(tokens, 2), torch.randn(tokens, 2)
    slow = 0.0
    for start, length in zip(batch.ragged.starts, batch.ragged.lengths, strict=True):
        for side in range(2):
            p, q = (torch.softmax(x[start : start + length, side], 0) for x in (expected, given))
            slow += float((p * (p / q).log()).sum()) / 2
    assert float(LESSONS["span"](given, expected, batch, 1.0)) == pytest.approx(slow, rel=1e-4)


def test_classes_of_which_any_may_be_true_are_learned_one_by_one() -> None:
    given, expected = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 2.0]])
    p, q = torch.sigmoid(expected[0, 0]), torch.tensor(0.5)
    slow = p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()
    batch = make_batch(Distilled(TASK, labelled=False).rows(UNLABELLED[:1], TOKENIZER), per_token=False)
    assert float(several_classes(given, expected, batch, 1.0)) == pytest.approx(float(slow) / 2, rel=1e-5)


def test_words_are_hidden_anew_in_every_batch_but_never_special_pieces() -> None:
    batch = pack([TOKENIZER.encode(text).ids for text in TEXTS])
    hidden, places = hide_words(batch, TOKENIZER)
    assert 0.1 < len(places) / (~TOKENIZER.special[batch.ids]).sum() < 0.2
    assert (hidden.ids[places] == TOKENIZER.mask_id).all()
    assert not TOKENIZER.special[batch.ids[places]].any()
    assert len(hide_words(pack([[2, 9, 3]]), TOKENIZER)[1]) == 1


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> BertWithHead:
    """A classifier that knows its examples."""
    taught = classifier(initial_deviation=0.05)
    settings = replace(AGAIN, epochs=8, learning_rate=5e-3, batch_size=16, dropout=0.0)
    learn(tmp_path_factory.mktemp("teacher") / "work", TASK, taught, TOKENIZER, EXAMPLES, (), settings)
    assert score(TASK, taught, EXAMPLES, TASK.rows(EXAMPLES, TOKENIZER))["accuracy"] == 1.0
    return taught


@pytest.mark.parametrize("labelled", [True, False])
def test_a_student_of_another_width_learns_what_its_teacher_knows(
    teacher: BertWithHead, labelled: bool, tmp_path: Path
) -> None:
    examples = EXAMPLES if labelled else UNLABELLED
    settings = replace(FRESH, epochs=10, learning_rate=5e-3, batch_size=16)
    student = distil(
        tmp_path / "work", teacher, SMALL, TASK, TOKENIZER, examples, (), settings, labelled=labelled, scored=labelled
    )
    assert student.bert.config == SMALL
    assert score(TASK, student, EXAMPLES, TASK.rows(EXAMPLES, TOKENIZER))["accuracy"] > 0.95
    assert not (tmp_path / "work").exists()


def test_a_student_of_the_same_width_starts_with_its_teachers_layers(teacher: BertWithHead) -> None:
    student = student_of(teacher, parse_size("2x32", teacher.bert.config), TASK)
    assert [student.bert.config.layers, student.bert.config.heads] == [2, 4]
    for own, other in ((0, 1), (1, 2)):  # 2 of 3: the second and the third
        assert torch.equal(student.bert.layers[own].up.weight, teacher.bert.layers[other].up.weight)
    assert isinstance(student.head.classifier, nn.Linear)
    assert torch.equal(student.head.classifier.weight, teacher.head.classifier.weight)


def test_a_size_that_is_none_or_not_smaller_is_refused(teacher: BertWithHead) -> None:
    for size in ("3x32", "base"):
        with pytest.raises(InputError, match="smaller"):
            parse_size(size, teacher.bert.config)
    with pytest.raises(InputError, match="6x384"):
        parse_size("huge", teacher.bert.config)


def test_an_encoder_and_its_masked_words_are_learned_from_plain_text(tmp_path: Path) -> None:
    for head in ("embedding", "masked_words"):
        task = PlainText(head, longest=16)
        whole = model(head, initial_deviation=0.05)
        assert isinstance(whole, BertWithHead)
        heard: list[float] = []
        settings = replace(FRESH, epochs=6, learning_rate=5e-3, batch_size=8)
        student = distil(
            tmp_path / head,
            whole,
            SMALL,
            task,
            TOKENIZER,
            UNLABELLED,
            UNLABELLED,
            settings,
            labelled=False,
            scored=False,
            on_step=lambda standing, _, heard=heard: heard.append(standing.step.losses["outputs"]),
        )
        assert np.mean(heard[-4:]) < 0.5 * heard[0]
        if head == "embedding":
            outputs = [outputs_of(one, task.rows(UNLABELLED, TOKENIZER)) for one in (student, whole)]
            assert agreement(outputs[0], outputs[1], head) > 0.8


def test_an_interrupted_distillation_ends_with_the_same_student(teacher: BertWithHead, tmp_path: Path) -> None:
    settings = replace(FRESH, epochs=1, batch_size=8)
    teach = partial(
        distil,
        teacher=teacher,
        shape=SMALL,
        task=TASK,
        tokenizer=TOKENIZER,
        training=UNLABELLED,
        dev=(),
        settings=settings,
        scored=False,
    )
    whole = teach(tmp_path / "whole", labelled=False)

    def interrupt(standing: object, _: int) -> None:
        if standing.step.number == 3:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        teach(tmp_path / "halved", labelled=False, on_step=interrupt)
    with pytest.raises(InputError, match="other settings: data"):
        teach(tmp_path / "halved", labelled=False, training=UNLABELLED[:9])
    again = teach(tmp_path / "halved", labelled=False)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole.state_dict().items())


def test_agreement_is_of_answers_not_of_numbers() -> None:
    assert agreement([np.array([[1.0, 2.0], [3.0, 0.0]])], [np.array([[0.0, 9.0], [0.0, 1.0]])], "tokens") == 0.5
    assert agreement(
        [np.array([1.0]), np.array([2.0])], [np.array([5.0]), np.array([7.0])], "regression"
    ) == pytest.approx(1.0)
    assert no_target(TASK.rows(UNLABELLED[:1], TOKENIZER)[0]).tolist() == [0, 0]
