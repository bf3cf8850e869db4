from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from products import need_products_in

from unmask.errors import InputError
from unmask.lab import bench_finetune
from unmask.lab.bench_finetune import (
    KINDS,
    ORDERS,
    Rounds,
    made_questions,
    made_texts,
    make_trial,
    measure_finetuning,
    our_training,
    their_collator,
    their_features,
    their_model,
    their_training,
)
from unmask.model.outputs import outputs_of
from unmask.training.journal import Journal

pytestmark = pytest.mark.usefixtures("little_trials")


@pytest.mark.parametrize("kind", KINDS)
def test_their_model_gives_our_outputs(kind: str) -> None:
    trial = make_trial(kind)
    batch = their_collator(trial)(their_features(trial))
    with torch.no_grad():
        found = their_model(trial).eval()(**batch)
    theirs = found.logits if kind == "classify" else torch.stack([found.start_logits, found.end_logits], -1)
    for ours, said in zip(outputs_of(trial.model, trial.rows), theirs.numpy(), strict=True):
        np.testing.assert_allclose(said[: len(ours)] if kind == "answer" else said, ours, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_their_loss_is_ours(kind: str, tmp_path: Path) -> None:
    trial = make_trial(kind)
    model, collate = their_model(trial).eval(), their_collator(trial)
    # row by row: among padded rows their span loss counts padding as places where an answer might be
    loss = np.mean([model(**collate([row])).loss.item() for row in their_features(trial)])
    our_training(replace(trial, batch_size=len(trial.rows)), tmp_path, epochs=1)()
    assert next(Journal(tmp_path / "run.jsonl").events())["loss"] == pytest.approx(loss, abs=1e-4)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_an_order_takes_every_row_once(order: object) -> None:
    trial = make_trial("classify")
    assert callable(order)
    assert sorted(order(trial)) == list(range(len(trial.rows)))


def test_grouped_batches_hold_rows_of_like_length() -> None:
    trial = make_trial("classify")
    lengths = [len(trial.rows[place].ids) for place in ORDERS["bucketed"](trial)]
    assert lengths == sorted(lengths, reverse=True)


def test_their_loop_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = make_trial("classify")
    monkeypatch.setattr(bench_finetune, "LEARNING_RATE", 1e-2)
    model = their_model(trial)
    monkeypatch.setattr(bench_finetune, "their_model", lambda _: model)
    before = model.classifier.weight.clone()
    their_training(trial, ORDERS["theirs"])()
    assert not torch.equal(before, model.classifier.weight)


def test_made_lengths_are_those_of_the_data_sets() -> None:
    texts = [len(example.text.split()) for example in made_texts(1000)]
    contexts = [len(example.context.split()) for example in made_questions(1000)]
    assert (min(texts), max(texts), np.median(texts)) == (1, 64, 8)
    assert abs(np.median(contexts) - 142) < 2


def test_a_made_answer_stands_where_it_is_said_to() -> None:
    for example in made_questions(5):
        assert example.answers
        for answer in example.answers:
            assert example.context[answer.start :].startswith(answer.text)


def test_examples_of_a_folder_keep_its_order(tmp_path: Path) -> None:
    lines = [f"film number {number} was fine\t{number % 2}" for number in range(30)]
    (tmp_path / "train.tsv").write_text("\n".join(["sentence\tlabel", *lines]) + "\n", encoding="utf-8")
    numbers = [int(example.text.split()[2]) for example in make_trial("classify", tmp_path).examples]
    assert len(numbers) == 8
    assert numbers == sorted(numbers)


def test_a_folder_without_training_examples_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\nfine\t1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.tsv"):
        make_trial("classify", tmp_path)


@pytest.mark.parametrize(
    ("precision", "works"),
    [("float32", ["training", "prediction"]), ("bfloat16", ["training", "prediction", "prediction_lower"])],
)
def test_all_sides_are_measured_in_every_round(precision: str, works: list[str]) -> None:
    need_products_in(precision)
    measured = measure_finetuning(make_trial("classify"), rounds=2, against_transformers=True, ours=precision)
    assert list(measured) == works
    for speeds in measured.values():
        assert [len(side) for side in (speeds.ours, speeds.theirs, speeds.bucketed)] == [2, 2, 2]


def test_ratios_are_taken_round_by_round() -> None:
    fields = Rounds((30.0, 20.0, 40.0), (10.0, 10.0, 10.0), (20.0, 20.0, 20.0)).to_dict()
    assert (fields["ratio"], fields["bucketed_ratio"]) == (3.0, 1.5)


def test_without_a_rival_ours_is_measured_alone() -> None:
    fields = Rounds((30.0, 20.0)).to_dict()
    assert (fields["ours"], fields["theirs"], fields["ratio"]) == (25.0, None, None)
