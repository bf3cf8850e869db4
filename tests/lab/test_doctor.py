"""The doctor of runs: a made journal for each thing that goes wrong, and a healthy one in which nothing is found."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unmask.errors import InputError
from unmask.lab import doctor
from unmask.lab.corpus_doctor import StoreFigures
from unmask.lab.doctor import RunRecord, context_free_loss, diagnose_run, read_run, run_fields
from unmask.tasks.pretraining import PretrainingSettings
from unmask.tasks.pretraining_run import PretrainingRun, Request

LINE = 6.5
STEPS = 1000
STORE = StoreFigures(
    documents=5000,
    short_documents=40,
    sentences=60_000,
    tokens=1_500_000,
    duplicate_sentences=900,
    unknown_rate=0.0002,
    pieces_per_word=1.3,
    unigram_loss=LINE,
)
SETTINGS = PretrainingSettings(steps=STEPS, learning_rate=1e-3, warmup=0.06)


def falling(start: float, stop: float, steps: int = STEPS) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A loss that falls as losses do, quickly and then slowly, with the noise of batches."""
    noise = np.random.default_rng(1).normal(0, 0.12, steps)
    return stop + (start - stop) * np.exp(-5 * np.arange(steps) / steps) + noise


def journal(
    losses: Sequence[float] | np.ndarray[Any, Any],
    *,
    norms: Sequence[float] | np.ndarray[Any, Any] | None = None,
    pairs: Sequence[float] | np.ndarray[Any, Any] | None = None,
    held_out: dict[int, float] | None = None,
) -> list[dict[str, Any]]:
    steps = len(losses)
    norms = np.random.default_rng(2).uniform(0.8, 1.6, steps) if norms is None else norms
    pairs = np.linspace(0.5, 0.85, steps) if pairs is None else pairs
    events = []
    for place in range(steps):
        event: dict[str, Any] = {"step": place + 1, "tokens": 4000, "mlm_loss": float(losses[place])}
        event |= {"nsp_accuracy": float(pairs[place]), "gradient_norm": float(norms[place])}
        if held_out and place + 1 in held_out:
            event["held_out"] = {"mlm_loss": held_out[place + 1]}
        events.append(event)
    return events


def make(events: list[dict[str, Any]], **changes: Any) -> RunRecord:
    run = RunRecord(Path("run"), SETTINGS, events, len(events), [], STORE, LINE)
    settings = replace(SETTINGS, **changes.pop("settings", {}))
    return replace(run, settings=settings, **changes)


def names(run: RunRecord) -> list[str]:
    return [finding.name for finding in diagnose_run(run)]


HEALTHY = journal(falling(9.0, 4.0), held_out={250: 5.2, 500: 4.4, 750: 4.2, 1000: 4.1})
flat = np.random.default_rng(3).normal(LINE, 0.1, STEPS)
spiked = falling(9.0, 4.0)
spiked[[300, 500, 700]] += 4
exploding = np.ones(STEPS)
exploding[600] = 80.0
growing = np.geomspace(0.5, 20, STEPS)
SICK = {
    "stuck on the entropy line": make(journal(np.where(np.arange(STEPS) < 100, falling(9.0, LINE, STEPS), flat))),
    "little context": make(journal(falling(9.0, 6.15))),
    "diverged": make(journal(np.concatenate([falling(9.0, 4.0, 700), np.linspace(4.1, 6.2, 300)]))),
    "unstable": make(journal(spiked)),
    "exploding gradients": make(journal(falling(9.0, 4.0), norms=exploding)),
    "learning rate too high": make(journal(flat - 2, norms=growing)),
    "learning rate too low": make(journal(falling(9.5, 7.5)), settings={"learning_rate": 1e-6}),
    "too short": make(journal(falling(9.5, 7.5))),
    "sentence pairs at chance": make(journal(falling(9.0, 4.0), pairs=np.full(STEPS, 0.51))),
    "sentence pairs too easy": make(journal(falling(9.0, 4.0), pairs=np.full(STEPS, 0.99))),
    "overfitting": make(journal(falling(9.0, 3.0), held_out={250: 5.2, 500: 4.9, 750: 5.1, 1000: 5.4})),
    "duplicates": make(HEALTHY, store=replace(STORE, duplicate_sentences=20_000)),
    "few documents": make(HEALTHY, store=replace(STORE, documents=30, short_documents=1)),
    "one-sentence documents": make(HEALTHY, store=replace(STORE, short_documents=4000)),
    "wrong vocabulary": make(HEALTHY, store=replace(STORE, unknown_rate=0.2)),
    "words in many pieces": make(HEALTHY, store=replace(STORE, pieces_per_word=2.6)),
    "another store": make(HEALTHY, other_store=True),
    "damaged checkpoint": make(HEALTHY, damaged=["checkpoint 000000900.safetensors is damaged"]),
    "unfinished": make(HEALTHY, planned=2 * STEPS),
}


def test_nothing_is_found_in_a_healthy_run() -> None:
    assert names(make(HEALTHY)) == []


@pytest.mark.parametrize("name", SICK)
def test_each_illness_is_found_and_no_other(name: str) -> None:
    findings = list(diagnose_run(SICK[name]))
    assert [finding.name for finding in findings] == [name]
    assert findings[0].seen
    assert findings[0].do


def test_gradients_that_are_all_clipped_on_the_line_say_the_rate_is_too_high() -> None:
    found = names(make(journal(flat, norms=np.full(STEPS, 9.0))))
    assert found == ["stuck on the entropy line", "learning rate too high"]


def test_clipping_alone_is_no_illness() -> None:
    assert names(make(journal(falling(9.0, 4.0), norms=np.full(STEPS, 9.0)))) == []


def test_a_loss_that_still_falls_at_the_end_is_a_hint() -> None:
    [finding] = diagnose_run(make(journal(np.linspace(9.0, 4.0, STEPS))))
    assert (finding.name, finding.severity) == ("too short", "hint")


def test_a_run_that_has_just_begun_is_only_unfinished() -> None:
    assert names(make(journal(falling(9.0, 8.0, 40)), planned=STEPS)) == ["unfinished"]


def test_passing_the_line_is_not_being_stuck() -> None:
    losses = np.concatenate([np.linspace(9, LINE, 200), np.full(80, LINE), np.linspace(LINE, 4.5, 400)])
    for steps in range(200, 680, 20):
        assert "stuck on the entropy line" not in names(make(journal(losses[:steps]), planned=5000))


def test_without_sentence_pairs_few_documents_are_enough() -> None:
    events = [{k: v for k, v in event.items() if k != "nsp_accuracy"} for event in HEALTHY]
    few = replace(STORE, documents=30, short_documents=30)
    assert names(make(events, settings={"objective": "mlm"}, store=few)) == []


def test_without_its_store_a_run_is_still_looked_at() -> None:
    run = make(journal(falling(9.0, 4.0), pairs=np.full(STEPS, 0.51)), store=None, line=None)
    assert names(run) == ["sentence pairs at chance"]
    assert run_fields(run)["unigram_loss"] is None


def test_the_context_free_loss_is_that_of_the_best_guesser_without_context() -> None:
    """Against a simulation: a word, what is shown of it, and the best guess from that alone."""
    generator, frequencies = np.random.default_rng(0), np.array([0.5, 0.25, 0.125, 0.125])
    mix = (0.6, 0.1, 0.3)
    true = generator.choice(4, size=400_000, p=frequencies)
    fate = generator.choice(3, size=len(true), p=mix)
    shown = np.where(fate == 2, true, generator.integers(0, 10_000_000, len(true)) + 4)
    kept = mix[2] / (mix[1] + mix[2])  # a large vocabulary: what was replaced by chance is hardly ever the true word
    visible = np.where(shown == true, kept, (1 - kept) * frequencies[true])
    loss = -np.log(np.where(fate == 0, frequencies[true], visible)).mean()
    line = float(-(frequencies * np.log(frequencies)).sum())
    assert context_free_loss(line, PretrainingSettings(mask_mix=mix)) == pytest.approx(loss, abs=0.01)
    assert context_free_loss(line, PretrainingSettings(objective="clm")) == line
    assert context_free_loss(line, PretrainingSettings(mask_mix=(1.0, 0.0, 0.0))) == line


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of a few steps, saved twice."""
    work = tmp_path_factory.mktemp("run")
    text = "".join(f"A dog met cat {n}. It ran.\nThe cat was number {n}. It sat.\n\n" for n in range(60))
    (work / "pets.txt").write_text(text)
    changes = {"steps": 3, "lengths": (16,), "batch_tokens": 64, "part_tokens": 64, "held_out": 0.2}
    request = Request([work / "pets.txt"], work / "run", "tiny", changes=changes, vocabulary_size=80, save_every=0.0)
    PretrainingRun(request).finish(lambda _: None)
    return work / "run"


def test_a_real_run_is_read(run_folder: Path) -> None:
    run = read_run(run_folder)
    assert (run.steps, run.planned, run.finished, run.other_store) == (3, 3, True, False)
    fields = run_fields(run)
    assert fields["store"]["documents"] == 60
    assert fields["unigram_loss"] == pytest.approx(run.line)
    assert fields["tokens_per_second"] > 0
    json.dumps(fields)


def test_the_entropy_line_is_the_stores_or_that_of_the_card(run_folder: Path, tmp_path: Path) -> None:
    run = read_run(run_folder)
    without = tmp_path / "without"
    without.mkdir()
    for name in ("run.jsonl", "settings.json", "unmask.json"):
        (without / name).write_bytes((run_folder / name).read_bytes())
    assert run.line is not None
    assert read_run(without).line == pytest.approx(run.line)
    assert read_run(without, run_folder / "store").store == run.store
    (without / "unmask.json").unlink()
    assert read_run(without).line is None


def test_a_damaged_last_checkpoint_is_found(run_folder: Path) -> None:
    last = max((run_folder / "checkpoints").glob("*.safetensors"))
    intact = last.read_bytes()
    last.write_bytes(intact[:-1] + bytes([intact[-1] ^ 1]))
    try:
        assert "damaged checkpoint" in names(read_run(run_folder))
    finally:
        last.write_bytes(intact)
    assert "damaged checkpoint" not in names(read_run(run_folder))


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(InputError, match="the settings of a pretraining run"):
        read_run(tmp_path)
    (tmp_path / "run.jsonl").write_text("")
    with pytest.raises(InputError, match=r"empty run\.jsonl"):
        read_run(tmp_path)


def test_spikes_are_found_where_they_are() -> None:
    assert doctor._spikes(spiked) == [300, 500, 700]
    assert doctor._spikes(falling(9.0, 4.0)) == []
    assert math.isclose(make(HEALTHY).smoothed[0], np.mean(make(HEALTHY).losses[:50]))
