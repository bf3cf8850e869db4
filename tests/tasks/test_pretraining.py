from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.data.store import Store
from unmask.errors import InputError
from unmask.model.config import BertConfig
from unmask.tasks.objectives import Learner, make_model
from unmask.tasks.pretraining import (
    Batches,
    Pretraining,
    PretrainingSettings,
    examination,
    examine,
    new_learner,
    seconds_a_step,
    steps_in,
    unigram_loss,
)
from unmask.text.tokenizer import Tokenizer

SETTINGS = PretrainingSettings(
    steps=8, lengths=(32,), batch_tokens=256, part_tokens=128, learning_rate=1e-2, dropout=0.1, seed=3
)


def pretraining(
    folder: Path, store: Store, tokenizer: Tokenizer, settings: PretrainingSettings = SETTINGS
) -> Pretraining:
    config = BertConfig(vocabulary_size=tokenizer.size, width=32, layers=1, heads=2, feed_forward=64, positions=64)
    learner = Learner(make_model(config, settings.objective, settings.seed), settings.objective)
    documents = np.arange(store.document_count)
    batches = Batches(store, documents[4:], tokenizer, settings)
    return Pretraining(
        folder, learner, batches, examination(store, documents[:4], tokenizer, settings), settings, save_every=0
    )


def weights(run: Pretraining) -> torch.Tensor:
    return torch.cat([part.detach().flatten() for part in run.learner.parameters()])


def test_stopped_and_resumed_it_is_the_same_run_bit_for_bit(tmp_path: Path, store: Store, tokenizer: Tokenizer) -> None:
    whole = pretraining(tmp_path / "whole", store, tokenizer)
    whole.resume()
    list(whole.steps())
    for stops in (3, 5):
        part = pretraining(tmp_path / "parts", store, tokenizer)
        part.resume()
        for standing in part.steps():
            if standing.step.number == stops:
                break
    last = pretraining(tmp_path / "parts", store, tokenizer)
    last.resume()
    assert last.run.step == 5
    list(last.steps())
    assert torch.equal(weights(whole), weights(last))
    assert (tmp_path / "whole" / "run.jsonl").read_bytes() == (tmp_path / "parts" / "run.jsonl").read_bytes()


@pytest.mark.parametrize("optimiser", ["adamw", "muon", "lamb"])
def test_measuring_a_step_leaves_a_run_as_it_was(
    tmp_path: Path, store: Store, tokenizer: Tokenizer, optimiser: str
) -> None:
    settings = replace(SETTINGS, optimiser=optimiser)
    plain, measured = (pretraining(tmp_path / name, store, tokenizer, settings) for name in ("plain", "measured"))
    assert seconds_a_step(measured, at_least=0.05) > 0
    assert torch.equal(weights(plain), weights(measured))
    for run in (plain, measured):
        run.resume()
        list(run.steps())
    assert torch.equal(weights(plain), weights(measured))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_step_is_measured_in_the_precision_that_it_is_taken_in(
    tmp_path: Path, store: Store, tokenizer: Tokenizer, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = pretraining(tmp_path / "run", store, tokenizer, replace(SETTINGS, precision=precision))
    halved = set()
    forward = run.learner.forward

    def seen(*given: object) -> object:
        halved.add(torch.is_autocast_enabled("cpu"))
        return forward(*given)

    monkeypatch.setattr(run.learner, "forward", seen)
    seconds_a_step(run, at_least=0.0)
    assert halved == {precision == "bfloat16"}


def test_in_float16_overflows_are_skipped_and_resuming_is_exact_among_them(
    tmp_path: Path, store: Store, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unmask.training.scaling.INITIAL", 2.0**28)
    monkeypatch.setattr("unmask.training.scaling.PATIENCE", 3)
    settings = replace(SETTINGS, precision="float16", steps=16)
    whole = pretraining(tmp_path / "whole", store, tokenizer, settings)
    whole.resume()
    steps = [standing.step for standing in whole.steps()]
    assert steps[0].skipped
    assert steps[1].loss_scale == steps[0].loss_scale / 2
    assert {one.loss_scale / other.loss_scale for one, other in pairwise(steps)} == {0.5, 1.0, 2.0}
    for stops in (2, 12):
        part = pretraining(tmp_path / "parts", store, tokenizer, settings)
        part.resume()
        next(standing for standing in part.steps() if standing.step.number == stops)
    last = pretraining(tmp_path / "parts", store, tokenizer, settings)
    last.resume()
    list(last.steps())
    assert torch.equal(weights(whole), weights(last))
    journals = [(tmp_path / name / "run.jsonl").read_text() for name in ("whole", "parts")]
    assert journals[0] == journals[1]
    assert '"skipped": true' in journals[0].splitlines()[0]


@pytest.mark.parametrize("objective", ["mlm+nsp", "clm"])
def test_accumulated_parts_learn_what_one_big_batch_learns(
    tmp_path: Path, store: Store, tokenizer: Tokenizer, objective: str
) -> None:
    found = []
    for part_tokens in (64, 256):
        settings = PretrainingSettings(
            steps=3, objective=objective, lengths=(32,), batch_tokens=256, part_tokens=part_tokens, learning_rate=1e-3
        )
        run = pretraining(tmp_path / str(part_tokens), store, tokenizer, settings)
        run.resume()
        run.settings = PretrainingSettings(**{**settings.__dict__, "dropout": 0.0})
        losses = [standing.step.loss for standing in run.steps()]
        found.append((weights(run), losses))
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-3, atol=1e-5)


def test_ranks_together_draw_what_one_alone_draws(store: Store, tokenizer: Tokenizer) -> None:
    def drawn(rank: int, world: int) -> dict[int, bytes]:
        batches = Batches(store, np.arange(store.document_count), tokenizer, SETTINGS)
        batches.rank, batches.world = rank, world
        return {part.number: part.batch.ragged.ids.tobytes() for part in batches.parts(7, 32)}

    assert drawn(0, 2) | drawn(1, 2) == drawn(0, 1)
    assert drawn(0, 2).keys() & drawn(1, 2).keys() == set()


def test_left_to_right_every_word_but_the_last_is_asked_for_its_successor(store: Store, tokenizer: Tokenizer) -> None:
    settings = PretrainingSettings(objective="clm", lengths=(32,), batch_tokens=256, part_tokens=256)
    (part,) = Batches(store, np.arange(store.document_count), tokenizer, settings).parts(0, 32)
    ragged = part.batch.ragged
    assert len(part.batch.positions) == len(ragged.ids) - len(ragged.lengths)
    np.testing.assert_array_equal(ragged.ids[part.batch.positions + 1], part.batch.targets)


def test_masked_words_are_where_the_batch_says(store: Store, tokenizer: Tokenizer) -> None:
    settings = PretrainingSettings(lengths=(32,), batch_tokens=512, part_tokens=512, mask_mix=(1.0, 0.0, 0.0))
    (part,) = Batches(store, np.arange(store.document_count), tokenizer, settings).parts(0, 32)
    masked = np.flatnonzero(part.batch.ragged.ids == tokenizer.mask_id)
    np.testing.assert_array_equal(masked, part.batch.positions)


def test_phases_change_the_length_where_they_should() -> None:
    settings = PretrainingSettings(lengths=(128, 512), phases=(90, 10))
    lengths = [settings.length_at(share / 100) for share in range(100)]
    assert lengths == [128] * 90 + [512] * 10


def test_settings_survive_their_file() -> None:
    assert PretrainingSettings.from_json(SETTINGS.to_json()) == SETTINGS


def test_a_budget_for_a_handful_of_steps_is_refused() -> None:
    with pytest.raises(InputError, match="at least 100 steps"):
        steps_in(10, 1.0)


def test_the_unigram_line_is_the_entropy_of_the_pieces(store: Store, tokenizer: Tokenizer) -> None:
    counts = np.bincount(store.tokens(0, store.token_count))
    shares = counts[counts > 0] / counts.sum()
    assert unigram_loss(store, tokenizer.size) == pytest.approx(float(-(shares * np.log(shares)).sum()))


def test_held_out_figures_do_not_depend_on_the_parts_they_are_taken_in(
    tmp_path: Path, store: Store, tokenizer: Tokenizer
) -> None:
    run = pretraining(tmp_path, store, tokenizer)
    figures = [
        examine(
            run.learner,
            examination(store, np.arange(4), tokenizer, PretrainingSettings(lengths=(32,), part_tokens=size)),
        )
        for size in (64, 4096)
    ]
    assert figures[0] == pytest.approx(figures[1], rel=1e-5)


@pytest.mark.parametrize("ending", [0, 8])
def test_with_a_deadline_the_pace_follows_the_clock(
    tmp_path: Path, store: Store, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, ending: int
) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr("unmask.training.run.time.monotonic", lambda: next(clock) / 10)  # a step seems to take 0.1 s
    run = pretraining(tmp_path, store, tokenizer, PretrainingSettings(**{**SETTINGS.__dict__, "steps": 100}))
    run.resume()
    standings = list(run.steps(deadline=5.0, ending=ending))
    assert run.run.spent * (1 + ending / len(standings)) == pytest.approx(5.0, rel=0.05)
    assert len(standings) < 60
    assert standings[-1].step.learning_rate < 0.001 < standings[10].step.learning_rate


def test_compiling_wraps_the_feed_forward_part_of_each_layer(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped = []
    monkeypatch.setattr("torch.compile", lambda part, dynamic: wrapped.append(dynamic) or part)
    config = BertConfig(vocabulary_size=tokenizer.size, width=16, layers=3, heads=2, feed_forward=32, positions=64)
    plain, compiled = new_learner(config, SETTINGS), new_learner(config, replace(SETTINGS, compile=True))
    assert wrapped == [True] * 3
    assert plain.state_dict().keys() == compiled.state_dict().keys()  # a checkpoint of one is one of the other
