import errno
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from unmask.data.neighbours import some_tokens
from unmask.errors import InputError
from unmask.model.folder import open_model
from unmask.tasks import pretraining_run
from unmask.tasks.pretraining_run import PretrainingRun, Request
from unmask.training import checkpoint

CHANGES = {"steps": 30, "lengths": (32,), "batch_tokens": 128, "part_tokens": 64, "dropout": 0.1, "held_out": 0.3}


@pytest.fixture(autouse=True)
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.model.config.SIZES", {"mini": (1, 32, 2)})


def request_for(folder: Path, text: Path) -> Request:
    return Request([text], folder, vocabulary_size=150, changes=dict(CHANGES), save_every=0.0)


def finish(request: Request) -> pretraining_run.Outcome:
    return PretrainingRun(request).finish(lambda _: None)


def test_text_becomes_a_model_folder_with_its_curve_and_figures(tmp_path: Path, text_file: Path) -> None:
    outcome = finish(request_for(tmp_path / "run", text_file))
    opened = open_model(tmp_path / "run")
    assert opened.about.head == "pretraining"
    assert opened.about.scores["mlm_loss"] == outcome.mlm_loss
    assert outcome.steps == 30
    assert (tmp_path / "run" / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert set(outcome.to_dict()) >= {
        "folder", "steps", "tokens", "seconds", "tokens_per_second", "loss", "mlm_loss", "mlm_accuracy",
        "nsp_accuracy", "unigram_loss",
    }  # fmt: skip


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_same_bytes(tmp_path: Path, text_file: Path) -> None:
    """Kills the process without warning a dozen times, while reading, stepping and saving, then lets it finish."""
    started = time.monotonic()
    finish(request_for(tmp_path / "whole", text_file))
    whole_takes = time.monotonic() - started
    chance, kills = random.Random(0), 0
    for _ in range(12):
        child = os.fork()
        if child == 0:
            os._exit(0 if finish(request_for(tmp_path / "killed", text_file)) else 1)
        time.sleep(chance.uniform(0.02, 0.5 * whole_takes))
        os.kill(child, signal.SIGKILL)
        kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    finish(request_for(tmp_path / "killed", text_file))
    assert kills > 0
    for name in ("model.safetensors", "run.jsonl", "checkpoints/000000030.safetensors", "vocab.txt", "settings.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_running_a_finished_run_again_changes_nothing(tmp_path: Path, text_file: Path) -> None:
    first = finish(request_for(tmp_path / "run", text_file))
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    again = finish(request_for(tmp_path / "run", text_file))
    assert again.mlm_loss == first.mlm_loss
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_a_full_disk_keeps_the_last_good_state(
    tmp_path: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_save = checkpoint.save

    def save(folder: Path, state: checkpoint.Checkpoint) -> None:
        if state.step == 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        real_save(folder, state)

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", save)
        with pytest.raises(InputError, match=r"full disk while saving step 6; .*after step 5 is kept"):
            finish(request_for(tmp_path / "run", text_file))
    assert PretrainingRun(request_for(tmp_path / "run", text_file)).pretraining.run.step == 5


def test_a_run_of_another_text_vocabulary_or_setting_is_not_resumed(tmp_path: Path, text_file: Path) -> None:
    request = request_for(tmp_path / "run", text_file)
    finish(replace(request, changes={**CHANGES, "steps": 2}))
    with pytest.raises(InputError, match="steps 2 there, 30 here"):
        finish(request)
    with pytest.raises(InputError, match="mask_rate"):
        finish(replace(request, changes={**CHANGES, "steps": 2, "mask_rate": 0.2}))


def test_an_interruption_saves_the_step_it_came_in(tmp_path: Path, text_file: Path) -> None:
    asked: list[int] = []
    run = PretrainingRun(replace(request_for(tmp_path / "run", text_file), save_every=1e9))
    with pytest.raises(KeyboardInterrupt):
        run.finish(lambda standing: asked.append(standing.step.number), stop=lambda: len(asked) >= 6)
    resumed = PretrainingRun(request_for(tmp_path / "run", text_file))
    assert resumed.pretraining.run.step == 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"preset": "magic"}, "preset 'magic'"),
        ({"size": "huge"}, "size 'huge'"),
        ({"device": "abacus"}, "device 'abacus'"),
        ({"changes": {"objective": "guess"}}, "objective 'guess'"),
        ({"changes": {"lengths": (128, 512)}}, "2 lengths and 1 phases"),
        ({"vocabulary": Path("nowhere.txt")}, "vocabulary nowhere.txt"),
        ({"budget": 0.001}, "a budget"),
        ({"size": "auto"}, "--size auto without a budget"),
        ({"size": "auto", "budget": 60.0}, "give --budget, not --steps"),
        ({"size": "mini", "from_model": "default"}, "--size mini with --from"),
    ],
)
def test_bad_requests_are_refused_in_words(
    tmp_path: Path, text_file: Path, change: dict[str, object], said: str
) -> None:
    request = replace(request_for(tmp_path / "run", text_file), **change)
    with pytest.raises(InputError, match=said):
        finish(request)


def test_time_that_passed_before_the_run_is_part_of_its_budget(tmp_path: Path, text_file: Path) -> None:
    request = replace(request_for(tmp_path / "run", text_file), budget=1000.0)
    with pytest.raises(InputError, match=r"a budget with -?\d+ s for training"):
        PretrainingRun(request, waited=990.0)
    assert PretrainingRun(request).settings.steps > 100
    assert not (tmp_path / "run" / "curve.png").exists()


def test_a_card_tells_the_steps_that_were_taken_in_the_time(
    tmp_path: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unmask.tasks.pretraining_run.seconds_a_step", lambda *_, **__: 0.001)  # too fast a guess
    changes = {name: value for name, value in CHANGES.items() if name != "steps"}
    run = PretrainingRun(replace(request_for(tmp_path / "run", text_file), budget=8.0, changes=changes))
    guessed, outcome = run.settings.steps, run.finish(lambda _: None)
    assert outcome.steps != guessed
    assert open_model(tmp_path / "run").about.provenance["settings"]["steps"] == outcome.steps


def test_the_size_is_chosen_by_the_budget_and_kept_when_resumed(
    tmp_path: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unmask.model.config.SIZES", {"tiny": (1, 16, 1), "mini": (1, 32, 2), "small": (2, 32, 2)})
    monkeypatch.setattr("unmask.tasks.sizing.CANDIDATES", ("tiny", "mini", "small"))
    monkeypatch.setattr("unmask.tasks.pretraining_run.seconds_a_step", lambda *_, **__: 0.004)
    changes = {name: value for name, value in CHANGES.items() if name != "steps"}
    request = replace(request_for(tmp_path / "run", text_file), size="auto", budget=1000.0, changes=changes)
    notes: list[str] = []
    # 250 steps a second of 128 pieces, 32 million in the time: beyond the weights of all but the largest
    monkeypatch.setattr("unmask.tasks.sizing.ENOUGH", 32e6 / 15_000)
    assert PretrainingRun(request, notes.append).settings.size == "mini"
    assert notes[0].startswith("size mini: ")
    monkeypatch.setattr("unmask.tasks.sizing.ENOUGH", 0.0)
    assert PretrainingRun(request).settings.size == "mini"
    assert PretrainingRun(replace(request, folder=tmp_path / "new")).settings.size == "small"


def test_one_document_cannot_teach_next_sentences(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("A cat sleeps.\nA dog barks.\nIt rains.\n", encoding="utf-8")
    with pytest.raises(InputError, match="another document"):
        finish(request_for(tmp_path / "run", tmp_path / "one.txt"))


def test_the_last_checkpoint_holds_what_the_folder_holds(tmp_path: Path, text_file: Path) -> None:
    finish(request_for(tmp_path / "run", text_file))
    kept = load_file(tmp_path / "run" / "checkpoints" / "000000030.safetensors")
    opened = open_model(tmp_path / "run")
    words = opened.bert.embeddings.words.weight
    assert torch.equal(kept["model.model.bert.embeddings.words.weight"], words)


def test_a_fresh_model_begins_with_what_its_training_text_counts(tmp_path: Path, text_file: Path) -> None:
    def words(folder: str, counted: bool) -> torch.Tensor:
        changes = {**CHANGES, "counted_start": counted}
        run = PretrainingRun(replace(request_for(tmp_path / folder, text_file), changes=changes))
        return run.pretraining.learner.model.bert.embeddings.words.weight.detach()

    counted, plain = words("counted", True), words("plain", False)
    corpus = PretrainingRun(request_for(tmp_path / "run", text_file)).corpus
    seen = np.unique(some_tokens(corpus.store, corpus.training, 10**9))
    assert np.array_equal(np.flatnonzero((counted != plain).any(1)), seen)


def test_runs_that_hide_more_or_less_are_asked_the_same(tmp_path: Path, text_file: Path) -> None:
    def asked(rate: float) -> list[int]:
        changes = {**CHANGES, "mask_rate": rate}
        run = PretrainingRun(replace(request_for(tmp_path / str(rate), text_file), changes=changes))
        return [target for part in run.pretraining.examination for target in part.batch.targets.tolist()]

    assert asked(0.15) == asked(0.4)
