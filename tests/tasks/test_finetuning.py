"""Fine-tuning: shuffles, resuming, the best weights, and a folder that answers as before."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from products import need_products_in
from reviews import PIECES, ROWS, request

from unmask.data.examples import TextExample
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.model.folder import open_model
from unmask.model.heads import BertWithHead
from unmask.model.outputs import outputs_of
from unmask.tasks.classification import Classification
from unmask.tasks.finetuning import ExampleBatches, FineTuningSettings, divided, fitting_rate, units
from unmask.tasks.finetuning_run import FineTuningRun, Request
from unmask.tasks.kinds import task_of
from unmask.text.tokenizer import Tokenizer


def test_every_epoch_has_every_example_once_in_another_order() -> None:
    task = Classification(("no", "yes"))
    rows = task.rows(
        [TextExample(word, label="no") for word in ("good", "bad", "dull", "day", "walk")], Tokenizer(PIECES)
    )
    batches = ExampleBatches(rows, task, batch_size=2, seed=3)
    assert batches.steps_an_epoch == 3
    epochs = [[id for step in range(first, first + 3) for id in _words(batches, step)] for first in (0, 3)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1]) == sorted(row.ids[1] for row in rows)
    assert _words(batches, 4) == _words(ExampleBatches(rows, task, batch_size=2, seed=3), 4)


def _words(batches: ExampleBatches, step: int) -> list[int]:
    return [id for part in batches.parts(step) for id in part.batch.ragged.ids.tolist() if id > 4]


def test_micro_batches_hold_whole_units() -> None:
    rows = [Row([2] * 4, [0] * 4, example) for example in (0, 0, 1, 2, 2)]
    parts = divided(units(rows, together=True), 8)
    assert [[row.example for row in part] for part in parts] == [[0, 0], [1], [2, 2]]


def test_a_model_learns_and_answers_the_same_after_reload(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    run = FineTuningRun(request(encoder, reviews, tmp_path / "sentiment"))
    outcome = run.train()
    assert outcome.score == 1.0
    opened = open_model(tmp_path / "sentiment")
    task = task_of(opened.about, opened.config.positions)
    assert isinstance(task, Classification)
    assert task.labels == ("negative", "positive")
    examples = [TextExample("the walk was lovely"), TextExample("very awful")]
    rows = task.rows(examples, opened.tokenizer)
    assert isinstance(opened.model, BertWithHead)
    answers = task.answers(examples, rows, outputs_of(opened.model, rows))
    assert [answer.to_dict()["label"] for answer in answers] == ["positive", "negative"]
    before = replace(task).answers(examples, rows, outputs_of(run.model, rows))
    assert [a.to_dict() for a in answers] == [b.to_dict() for b in before]
    assert not (tmp_path / "sentiment" / "checkpoints").exists()
    assert opened.about.scores["accuracy"] == 1.0


def test_a_killed_run_ends_with_the_same_weights(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    whole = FineTuningRun(request(encoder, reviews, tmp_path / "whole", epochs=3))
    whole.train()
    halved = FineTuningRun(request(encoder, reviews, tmp_path / "halved", epochs=3))
    with pytest.raises(KeyboardInterrupt):
        halved.train(stop=lambda: halved.tuning.run.step >= 7)
    again = FineTuningRun(request(encoder, reviews, tmp_path / "halved", epochs=3))
    again.train()
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
    journals = [(tmp_path / name / "run.jsonl").read_bytes() for name in ("whole", "halved")]
    assert journals[0] == journals[1]


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_products_learn_the_same_task_and_resume_exactly(
    encoder: Path, reviews: Path, tmp_path: Path, precision: str
) -> None:
    need_products_in(precision)
    whole, exact = (
        FineTuningRun(request(encoder, reviews, tmp_path / name, precision=name)) for name in (precision, "float32")
    )
    assert whole.train().score == exact.train().score == 1.0
    assert {value.dtype for value in whole.model.state_dict().values()} == {torch.float32}
    assert any(
        not torch.equal(value, exact.model.state_dict()[name]) for name, value in whole.model.state_dict().items()
    )
    halved = FineTuningRun(request(encoder, reviews, tmp_path / "halved", precision=precision))
    with pytest.raises(KeyboardInterrupt):
        halved.train(stop=lambda: halved.tuning.run.step >= 7)
    again = FineTuningRun(request(encoder, reviews, tmp_path / "halved", precision=precision))
    again.train()
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name


def test_an_unknown_precision_is_refused(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="precision 'half'; wanted auto or float32 or bfloat16 or float16"):
        FineTuningRun(request(encoder, reviews, tmp_path / "out", precision="half"))


@pytest.mark.parametrize("able", [False, True])
def test_products_are_in_what_the_machine_is_faster_in(
    encoder: Path, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": able})
    run = FineTuningRun(request(encoder, reviews, tmp_path / "out"))
    assert run.settings.precision == ("bfloat16" if able else "float32"), "settled, so that a resumed run has the same"


def test_an_interruption_does_not_wait_for_the_end_of_an_evaluation(
    encoder: Path, reviews: Path, tmp_path: Path
) -> None:
    whole = FineTuningRun(request(encoder, reviews, tmp_path / "whole", epochs=2))
    whole.train()
    halved, asked = FineTuningRun(request(encoder, reviews, tmp_path / "halved", epochs=2)), []

    def stop() -> bool:
        evaluating = not halved.model.training
        asked.append(evaluating)
        return evaluating

    with pytest.raises(KeyboardInterrupt):
        halved.train(stop=stop)
    assert asked.count(True) == 1
    FineTuningRun(request(encoder, reviews, tmp_path / "halved", epochs=2)).train()
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "halved")]
    assert weights[0] == weights[1]


def test_what_the_best_evaluation_said_is_not_computed_again(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    run = FineTuningRun(request(encoder, reviews, tmp_path / "once", epochs=2))
    run.train()
    kept, computed = run.tuning.best, outputs_of(run.model, run.tuning.dev_rows)
    assert kept is not None
    assert run.tuning.outputs() is kept
    for one, other in zip(kept, computed, strict=True):
        assert (one == other).all()


def test_a_finished_run_is_not_done_again(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    first = FineTuningRun(request(encoder, reviews, tmp_path / "once", epochs=1)).train()
    steps: list[object] = []
    assert FineTuningRun(request(encoder, reviews, tmp_path / "once", epochs=1)).train(steps.append) == first
    assert not steps


def test_it_ends_when_patience_does_and_keeps_the_best(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    run = FineTuningRun(request(encoder, reviews, tmp_path / "early", epochs=40, patience=2))
    outcome = run.train()
    assert outcome.steps < 40 * run.tuning.batches.steps_an_epoch
    assert outcome.score == max(run.tuning.seen)
    assert run.tuning.seen[-3:] == sorted(run.tuning.seen[-3:], reverse=True)


def test_without_a_dev_file_a_part_is_set_aside(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    asked = replace(request(encoder, reviews, tmp_path / "split", epochs=1), dev=None)
    run = FineTuningRun(asked, notes.append)
    assert len(run.training) + len(run.dev) == len(ROWS)
    assert not {example.text for example in run.training} & {example.text for example in run.dev}
    assert any("set aside" in note for note in notes)
    assert any(note.startswith(f"measured on {len(run.dev)}, fewer than 30") for note in notes)
    run.train()
    assert open_model(tmp_path / "split").about.provenance["dev"] == "10% of reviews.csv"


def test_a_folder_says_which_file_it_was_measured_on(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "SST-2").mkdir()
    for name in ("train.tsv", "dev.tsv"):
        lines = [f"{text}\t{number % 2}\n" for number, (text, _) in enumerate(ROWS)]
        (tmp_path / "SST-2" / name).write_text("".join(["sentence\tlabel\n", *lines]))
    asked = Request("sst2", str(encoder), tmp_path / "SST-2", tmp_path / "model", changes={"epochs": 1.0})
    FineTuningRun(replace(asked, options={"longest": 32})).train()
    assert open_model(tmp_path / "model").about.provenance["dev"] == "SST-2/dev.tsv"


def test_another_fine_tuning_in_the_folder_is_refused(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    FineTuningRun(request(encoder, reviews, tmp_path / "model", epochs=1)).train()
    with pytest.raises(InputError, match="epochs 1 there, 2 here"):
        FineTuningRun(request(encoder, reviews, tmp_path / "model", epochs=2))


def test_more_positions_than_learned_are_interpolated_and_trained(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    asked = replace(request(encoder, reviews, tmp_path / "long", epochs=1, positions=64), options={"longest": 64})
    FineTuningRun(asked).train()
    assert open_model(tmp_path / "long").config.positions == 64
    with pytest.raises(InputError, match="--positions 64"):
        FineTuningRun(replace(asked, changes={}, folder=tmp_path / "short"))


def test_an_option_of_another_task_is_refused(encoder: Path, reviews: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--crf with classify"):
        FineTuningRun(replace(request(encoder, reviews, tmp_path / "model"), options={"crf": True}))


def test_a_narrow_model_takes_larger_steps_than_the_recipe_unless_told(
    encoder: Path, reviews: Path, tmp_path: Path
) -> None:
    asked = request(encoder, reviews, tmp_path / "by-width")
    told = FineTuningRun(asked)
    assert told.settings.learning_rate == asked.changes["learning_rate"]
    without = {name: value for name, value in asked.changes.items() if name != "learning_rate"}
    run = FineTuningRun(replace(asked, changes=without))
    assert run.settings.learning_rate == fitting_rate(FineTuningSettings.learning_rate, run.opened.config.width) > 5e-5
