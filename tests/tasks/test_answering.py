"""Answering: the loss of transformers, spans of the original text, no answer, and a folder that answers as before."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from unmask.data.examples import GivenAnswer, QuestionExample
from unmask.data.rows import Row
from unmask.decode.spans import Answered
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.names import to_published
from unmask.model.outputs import outputs_of
from unmask.tasks.answering import NO_ANSWER, Answering
from unmask.tasks.finetuning import FineTuning, FineTuningSettings, TaskLearner
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.kinds import task_of
from unmask.tasks.task import Floats, make_batch
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PEOPLE, ANIMALS, PLACES = (
    ("ann", "bob", "old eve", "dan"),
    ("cat", "dog", "owl", "frog"),
    ("barn", "mill", "attic", "hut"),
)
WORDS = "who what where when saw in the a it was there and then all went home happy ? . 猫 在 哪 树 上"
TOKENIZER = Tokenizer([*SPECIAL_PIECES, "old", "eve", *PEOPLE[:2], "dan", *ANIMALS, *PLACES, *WORDS.split()])
CONFIG = BertConfig(
    vocabulary_size=TOKENIZER.size,
    width=32,
    layers=2,
    heads=4,
    feed_forward=64,
    positions=48,
    pooler=False,
    initial_deviation=0.1,
)


def examples_of(person: str, animal: str, place: str) -> list[QuestionExample]:
    """Who saw what, and where? When, the context does not say."""
    context = f"It was there: {person.title()} saw a {animal.upper()} in the {place}. And then all went home, happy."
    told = {"Who saw it?": person.title(), "What was it?": animal.upper(), "Where was it?": f"the {place}"}
    found = [QuestionExample(asked, context, (GivenAnswer(said, context.index(said)),)) for asked, said in told.items()]
    return [*found, QuestionExample("When was it?", context, ())]


EXAMPLES = [example for trio in zip(PEOPLE, ANIMALS, PLACES, strict=True) for example in examples_of(*trio)]
ANSWERED = [example for example in EXAMPLES if example.answers]


def fresh_model(seed: int = 0) -> BertWithHead:
    return BertWithHead(Bert(CONFIG, seed), make_head("span", CONFIG, seed=seed + 1))


def pointing(rows: list[Row], strength: float = 9.0) -> list[Floats]:
    """What a model would say that points at the targets."""
    outputs = []
    for row in rows:
        assert row.target is not None
        outputs.append(np.zeros((len(row.ids), 2), np.float32))
        outputs[-1][row.target, [0, 1]] = strength
    return outputs


def test_the_loss_is_that_of_transformers_on_the_same_weights() -> None:
    task = Answering(longest=48)
    model = fresh_model()
    rows = [row for row in task.rows(EXAMPLES, TOKENIZER) if len(row.ids) == 27]
    assert len(rows) > 4
    theirs = transformers.BertForQuestionAnswering(transformers.BertConfig(**CONFIG.to_published())).eval()
    published = to_published(model.state_dict(), CONFIG, "span")
    theirs.load_state_dict(published)
    starts, ends = torch.from_numpy(np.stack([row.target for row in rows if row.target is not None])).T
    expected = theirs(
        torch.tensor([list(row.ids) for row in rows]),
        token_type_ids=torch.tensor([list(row.segments) for row in rows]),
        start_positions=starts,
        end_positions=ends,
    ).loss
    batch = make_batch(rows, task.per_token)
    losses, _ = TaskLearner(model, task)(batch, None)
    ours = losses["span"] / task.counts(batch)["span"]
    assert ours.item() == pytest.approx(expected.item(), abs=1e-5)
    ours.backward()
    expected.backward()
    torch.testing.assert_close(
        model.get_parameter("head.classifier.weight").grad, theirs.qa_outputs.weight.grad, atol=1e-5, rtol=1e-4
    )


def test_rows_of_different_lengths_have_each_its_own_loss() -> None:
    task = Answering(longest=20, stride=4)
    rows = task.rows(EXAMPLES, TOKENIZER) + Answering(longest=48).rows(EXAMPLES[:3], TOKENIZER)
    batch = make_batch(rows, task.per_token)
    outputs = torch.randn(len(batch.ragged.ids), 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    losses, figures = task.losses(outputs, batch)
    each, right = [], 0
    for part, target in zip(outputs.split(batch.ragged.lengths.tolist()), batch.targets, strict=True):
        each += [-part[:, side].log_softmax(0)[target[side]] / 2 for side in (0, 1)]
        right += part.argmax(0).tolist() == target.tolist()
    assert losses["span"].item() == pytest.approx(sum(each).item(), rel=1e-5)
    assert figures["span_accuracy"] == right
    losses["span"].backward()
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()


def test_the_right_tokens_give_the_answers_of_the_original_text() -> None:
    task = Answering(longest=24, stride=5, thresholds={NO_ANSWER: 0.0})
    rows = task.rows(EXAMPLES, TOKENIZER)
    assert len(rows) > len(EXAMPLES)
    answers = task.answers(EXAMPLES, rows, pointing(rows))
    for example, answer in zip(EXAMPLES, answers, strict=True):
        expected = example.answers[0] if example.answers else None
        assert answer.answer == (expected and expected.text)
        assert answer.start == (expected and expected.start)
    assert task.scores(EXAMPLES, answers)["f1"] == 1.0


def test_candidates_are_sorted_and_their_probabilities_are_one_with_no_answer() -> None:
    task = Answering(longest=24, thresholds={NO_ANSWER: 0.0}, longest_answer=3)
    rows = task.rows(EXAMPLES, TOKENIZER)
    for answer in task.answers(EXAMPLES, rows, outputs_of(fresh_model(), rows)):
        scores = [span.score for span in answer.nbest]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) + answer.no_answer_probability == pytest.approx(1)


def test_without_unanswerable_examples_there_is_always_an_answer() -> None:
    task = Answering.learned_from(ANSWERED)
    rows = task.rows(EXAMPLES, TOKENIZER)
    nothing = [np.zeros((len(row.ids), 2), np.float32) for row in rows]
    for output in nothing:
        output[0] = 99.0
    assert all(answer.answer for answer in task.answers(EXAMPLES, rows, nothing))
    assert not any(answer.answer for answer in Answering.learned_from(EXAMPLES).answers(EXAMPLES, rows, nothing))


def test_the_no_answer_threshold_is_chosen_on_held_out_examples() -> None:
    task = Answering.learned_from(EXAMPLES)
    rows = task.rows(EXAMPLES, TOKENIZER)
    outputs = pointing(rows, 4.0)
    for row, output in zip(rows, outputs, strict=True):  # the model likes to answer: a place even where there is none
        output[0 if EXAMPLES[row.example].answers else row.segments.index(1)] += 3.0
        output[0] += 4.0
    before = task.scores(EXAMPLES, task.answers(EXAMPLES, rows, outputs))
    chosen = task.calibrated(EXAMPLES, rows, outputs)
    assert chosen.scores(EXAMPLES, chosen.answers(EXAMPLES, rows, outputs))["f1"] == 1.0 > before["f1"]
    assert replace(chosen, thresholds=task.thresholds) == task


def test_where_every_question_has_an_answer_no_threshold_is_chosen() -> None:
    task = Answering.learned_from(ANSWERED)
    rows = task.rows(ANSWERED, TOKENIZER)
    assert task.calibrated(ANSWERED, rows, pointing(rows)) == task


def test_answers_may_be_as_long_as_those_learned_from() -> None:
    context = "猫在树上" * 20
    example = QuestionExample("猫在哪?", context, (GivenAnswer(context[:50], 0),))
    assert Answering.learned_from([example]).longest_answer == 50
    assert Answering.learned_from(EXAMPLES).longest_answer == 30
    task = Answering.learned_from([example])
    rows = task.rows([example], TOKENIZER)
    assert task.answers([example], rows, pointing(rows))[0].answer == context[:50]


def test_what_a_folder_says_gives_the_same_task() -> None:
    task = Answering(longest=40, stride=9, longest_answer=44, marked=True, thresholds={NO_ANSWER: -1.5})
    about = About(head=task.head, **task.about)
    assert task_of(about, 512) == task
    assert task_of(About(head="span"), 512) == Answering()
    assert task_of(About(head="span"), 128) == Answering(longest=128)


def test_a_model_learns_examples_by_heart_and_answers_the_same_after_reload(tmp_path: Path) -> None:
    task = replace(Answering.learned_from(EXAMPLES), longest=24, stride=8)
    settings = FineTuningSettings(epochs=60, batch_size=16, learning_rate=1e-2, dropout=0.0, evaluations=0.1)
    model = fresh_model()
    tuning = FineTuning(tmp_path, task, model, TOKENIZER, EXAMPLES, EXAMPLES, settings)
    assert [standing.scores["f1"] for standing in tuning.train() if standing.scores][-1] == 1.0
    rows = task.rows(EXAMPLES, TOKENIZER)
    answers = task.answers(EXAMPLES, rows, outputs_of(model, rows))
    about = About(head=task.head, **task.about)
    save_model(tmp_path / "reader", CONFIG, model, TOKENIZER, about)
    opened = open_model(tmp_path / "reader")
    again = task_of(opened.about, opened.config.positions)
    assert isinstance(opened.model, BertWithHead)
    assert again.answers(EXAMPLES, rows, outputs_of(opened.model, again.rows(EXAMPLES, opened.tokenizer))) == answers


@pytest.mark.parametrize("marked", [False, True])
def test_a_file_of_questions_becomes_a_folder_that_answers_them(tmp_path: Path, marked: bool) -> None:
    questions = [
        {"id": str(number), "question": asked, "answers": [{"text": said, "answer_start": 0}]}
        for number, (asked, said) in enumerate([("Who saw it?", "Ann"), ("What was it?", "Ann saw a cat.")])
    ]
    unsaid = {"id": "2", "question": "When was it?", "answers": [], "is_impossible": True}
    paragraph = {"context": "Ann saw a cat.", "qas": [*questions, unsaid]}
    file = tmp_path / "train.json"
    file.write_text(json.dumps({"version": "2.0", "data": [{"paragraphs": [paragraph]}]}))
    save_model(tmp_path / "encoder", CONFIG, Bert(CONFIG), TOKENIZER, About())
    changes = {"epochs": 40, "batch_size": 3, "learning_rate": 1e-2, "dropout": 0.0, "evaluations": 0.1}
    asked = Request("answer", str(tmp_path / "encoder"), file, tmp_path / "reader", dev=file, changes=changes)
    run = FineTuningRun(replace(asked, options={"marked": marked}))
    assert run.task.longest == CONFIG.positions
    assert run.train().score == 1.0
    opened = open_model(tmp_path / "reader")
    about = opened.about
    assert (about.marked, opened.config.segments) == (marked, 3 if marked else 2)
    assert (about.head, about.max_length, about.stride) == ("span", CONFIG.positions, 128)
    assert set(about.thresholds) == {NO_ANSWER}
    assert about.scores["no_answer_f1"] == about.scores["has_answer_f1"] == 1.0


@pytest.mark.parametrize(("marked", "least", "most"), [(True, 0.8, 1.0), (False, 0.0, 0.4)])
def test_marks_are_learned_where_all_else_is_frozen(tmp_path: Path, marked: bool, least: float, most: float) -> None:
    """The answer is what the question names: a frozen encoder by chance tells nothing of it but the marks."""
    names = [*PEOPLE[:2], *ANIMALS, *PLACES]
    context = " ".join(names)
    examples = [QuestionExample(name, context, (GivenAnswer(name, context.index(name)),)) for name in names]
    config = replace(CONFIG, segments=3)
    task = Answering(longest=24, stride=12, marked=marked)
    model = BertWithHead(Bert(config), make_head("span", config))
    settings = FineTuningSettings(epochs=200, batch_size=10, learning_rate=3e-2, dropout=0.0, freeze="all")
    tuning = FineTuning(tmp_path, task, model, TOKENIZER, examples, examples, replace(settings, evaluations=0.05))
    tuning.resume()
    best = max(standing.scores["exact_match"] for standing in tuning.train() if standing.scores)
    assert least <= best <= most


def test_long_contexts_are_read_by_windows_or_not_at_all() -> None:
    assert Answering.learned_from(ANSWERED, long_text="windows") == Answering.learned_from(ANSWERED)
    with pytest.raises(InputError, match="wanted windows"):
        Answering.learned_from(ANSWERED, long_text="tail")


@pytest.mark.parametrize(
    ("question", "context", "answer", "metrics", "exact"),
    [
        ("Who?", "the barn", "Barn", "squad1", 1.0),
        ("谁？", "《树上》", "树上", "cmrc", 1.0),
        ("谁？", "《树上》", "树上", "squad1", 0.0),
    ],
)
def test_answers_are_scored_as_their_language_is(
    question: str, context: str, answer: str, metrics: str, exact: float
) -> None:
    example = QuestionExample(question, context, (GivenAnswer(answer, 0),))
    given = Answered(context, 0, len(context), 1.0, 0.0, (), 0.0)
    assert Answering(metrics=metrics).scores([example], [given])["exact_match"] == exact
    assert Answering().scores([example], [given])["exact_match"] == 1.0
