import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from unmask.data.prepare import prepare
from unmask.data.store import Store
from unmask.errors import InputError
from unmask.lab import bench_learning, learning_runs
from unmask.lab.bench_learning import Learning, LearningRun, collect, draw, find_store, run_missing
from unmask.lab.learning_runs import PLAIN, Course, Ours, Point, Stopwatch, Theirs, follow
from unmask.tasks.corpus import Corpus, hold_out
from unmask.tasks.pretraining import examination
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer
from unmask.training.loop import Part
from unmask.training.pace import Pace

COURSE = Course("ours", 1e-3, "store", "tiny", budget=100.0, clock="cpu", threads=1, seed=0)


class Clockwork:
    """A training whose every step takes a second of a clock that it turns itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step_seconds: float = 1.0) -> None:
        self.now, self.step_seconds, self.pace, self.settings = 0.0, step_seconds, Pace.of(1), {}
        monkeypatch.setattr(learning_runs, "CLOCKS", {"wall": lambda: self.now, "cpu": lambda: self.now / 2})

    def guess(self) -> float:
        self.now += 1.0
        return 0.7 * self.step_seconds

    def steps(self) -> Iterator[int]:
        number = 0
        while number < self.pace.steps:
            self.now += self.step_seconds
            number += 1
            yield 10

    def loss(self, _: list[Part]) -> float:
        self.now += 1000.0
        return 10.0 - self.now / 1e6


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("learning")
    documents = [f"The owl number {n} sleeps.\nThe mouse number {n} does not.\nBoth are at home." for n in range(400)]
    (folder / "text.txt").write_text("\n\n".join(documents), encoding="utf-8")
    prepare([folder / "text.txt"], folder / "store", Tokenizer(learn_vocabulary(documents, size=200)))
    store = Store.open(folder / "store")
    return Corpus(store, store.tokenizer(), *hold_out(store.document_count, PLAIN.held_out))


@pytest.mark.parametrize(("clock", "steps"), [("wall", 100), ("cpu", 200)])
def test_a_run_takes_its_budget_on_its_clock_whatever_was_guessed(
    clock: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Clockwork(monkeypatch)
    points = list(follow(training, lambda: training.loss([]), budget=100.0, clock=clock, watch=Stopwatch()))
    assert abs(points[-1].step - steps) <= 2
    assert points[-1].tokens == 10 * points[-1].step


def test_examinations_are_evenly_spaced_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Clockwork(monkeypatch)
    points = list(follow(training, lambda: training.loss([]), budget=100.0, clock="wall", watch=Stopwatch()))
    assert [point.seconds for point in points][:4] == [0.0, 5.0, 10.0, 15.0]
    assert points[-1].wall_seconds == points[-1].step


def test_what_was_done_before_the_first_step_belongs_to_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    training, watch = Clockwork(monkeypatch), Stopwatch()
    watch.go()
    training.now += 30.0
    watch.stop()
    points = list(follow(training, lambda: training.loss([]), budget=100.0, clock="wall", watch=watch))
    assert (points[0].step, points[0].seconds) == (0, 30.0)
    assert abs(points[-1].step - 70) <= 2


def test_the_schedule_ends_when_the_budget_does(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Clockwork(monkeypatch, step_seconds=5.0)
    points = list(follow(training, lambda: training.loss([]), budget=300.0, clock="wall", watch=Stopwatch()))
    assert training.pace.scheduled(points[-1].step) == training.pace.schedule_steps


def test_their_loss_by_our_model_is_their_own(corpus: Corpus) -> None:
    theirs = Theirs(replace(COURSE, side="theirs"), corpus)
    theirs.pace = Pace.of(2)
    list(theirs.steps())
    part = examination(corpus.store, corpus.held_out, corpus.tokenizer, PLAIN)[0]
    batch = part.batch
    ids = torch.from_numpy(batch.ragged.ids).split(batch.ragged.lengths.tolist())
    segments = torch.from_numpy(batch.ragged.segments).split(batch.ragged.lengths.tolist())
    asked = torch.full((len(batch.ragged.ids),), -100)
    asked[torch.from_numpy(batch.positions)] = torch.from_numpy(batch.targets)
    labels = asked.split(batch.ragged.lengths.tolist())
    stack = torch.nn.utils.rnn.pad_sequence
    padded = stack(ids, True)
    with torch.no_grad():
        logits = theirs.model.eval()(
            input_ids=padded,
            token_type_ids=stack(segments, True),
            attention_mask=stack([torch.ones_like(row) for row in ids], True),
        ).prediction_logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), stack(labels, True, -100).flatten())
    assert theirs.loss([part]) == pytest.approx(loss.item(), abs=1e-4)


def test_both_sides_learn(corpus: Corpus, tmp_path: Path) -> None:
    course = replace(COURSE, store=str(corpus.store.folder))
    questions = examination(corpus.store, corpus.held_out, corpus.tokenizer, PLAIN)
    for training in (Ours(course, tmp_path), Theirs(replace(course, side="theirs"), corpus)):
        before = training.loss(questions)
        training.pace = Pace.of(4)
        list(training.steps())
        assert training.loss(questions) < before - 0.1
        assert training.settings["learning_rate"] == course.learning_rate


def curve(*losses: float) -> tuple[Point, ...]:
    return tuple(Point(step, 0, 10.0 * step, 0.0, 0.0, loss) for step, loss in enumerate(losses))


def test_the_ratio_is_when_our_best_passes_where_their_best_ends() -> None:
    runs = (
        LearningRun(COURSE, curve(9, 7, 6, 5, 4)),
        LearningRun(replace(COURSE, learning_rate=2e-3), curve(9, 6, 6, 6, 6)),
        LearningRun(replace(COURSE, side="theirs"), curve(9, 8, 7.5, 7, 6.5)),
        LearningRun(replace(COURSE, side="theirs", learning_rate=1e-4), curve(9, 9, 9, 9, 9)),
    )
    fields = Learning(runs, unigram_loss=7.0).to_dict()
    assert (fields["ours"], fields["theirs"], fields["ratio"]) == (15.0, 40.0, 0.375)
    assert (fields["our_loss"], fields["their_loss"], fields["our_learning_rate"]) == (4, 6.5, 1e-3)


def test_a_loss_counts_as_passed_only_for_good() -> None:
    assert bench_learning.seconds_to(curve(9, 5, 7, 5, 4), 6.0) == 25.0


def write_run(folder: Path, course: Course) -> None:
    points = [asdict(point) for point in curve(9, 5)]
    path = folder / f"{bench_learning.name_of(course)}.json"
    path.write_text(json.dumps({"course": asdict(course), "points": points}), encoding="utf-8")


def test_a_finished_run_is_not_made_again_and_a_missing_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(bench_learning, "_run", lambda course, *_: made.append(course))
    theirs = replace(COURSE, side="theirs")
    write_run(tmp_path, COURSE)
    run_missing([COURSE, theirs], tmp_path, cores=[], watch=lambda *_: None)
    assert made == [theirs]


def test_a_run_is_a_process_that_reports_its_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import json, sys; print(json.dumps({**dict.fromkeys(sys.argv[1].split(), 1), 'loss': 2.0}))"
    fields = "step tokens seconds wall_seconds cpu_seconds"
    real = bench_learning.subprocess.Popen
    monkeypatch.setattr(
        bench_learning.subprocess, "Popen", lambda _, **how: real([sys.executable, "-c", script, fields], **how)
    )
    seen = []
    run_missing([COURSE], tmp_path, cores=[], watch=lambda course, point: seen.append((course, point)))
    assert seen == [(COURSE, Point(1, 1, 1, 1, 1, 2.0))]


def test_a_run_that_fails_does_not_keep_others_from_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def fail(course: Course, *_: object) -> None:
        made.append(course.learning_rate)
        raise InputError("a run that failed")

    monkeypatch.setattr(bench_learning, "_run", fail)
    with pytest.raises(InputError, match="failed"):
        run_missing([replace(COURSE, learning_rate=rate) for rate in (0.1, 0.2)], tmp_path, cores=[], watch=print)
    assert made == [0.1, 0.2]


def test_a_core_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="core 4096"):
        run_missing([], tmp_path, cores=[4096], watch=lambda *_: None)


def test_runs_of_different_comparisons_are_not_mixed(tmp_path: Path) -> None:
    write_run(tmp_path, COURSE)
    write_run(tmp_path, replace(COURSE, side="theirs", budget=5.0))
    with pytest.raises(InputError, match="differ in budget"):
        collect(tmp_path)


def test_collected_runs_are_drawn_with_the_unigram_line(corpus: Corpus, tmp_path: Path) -> None:
    for side in ("ours", "theirs"):
        write_run(tmp_path, replace(COURSE, side=side, store=str(corpus.store.folder)))
    learning = collect(tmp_path)
    draw(tmp_path / "learning.png", learning)
    assert (tmp_path / "learning.png").read_bytes().startswith(b"\x89PNG")
    assert 2 < learning.unigram_loss < 5


def test_text_that_leaves_nothing_to_measure_on_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("One sentence.\nAnother one.\n\nA third.\nA fourth.\n", encoding="utf-8")
    with pytest.raises(InputError, match="2 documents"):
        find_store(tmp_path / "text.txt", tmp_path)
