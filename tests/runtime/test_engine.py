"""The engine: answers do not depend on batch-mates or order, memory is bounded, and torch is never loaded."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from unmask.compress.export import export, sample_rows
from unmask.compress.onnx_bert import bert_graph
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.runtime import huge_pages
from unmask.runtime.engine import LOAD, MANY, SHORT, Engine, is_busy, usable_cores
from unmask.runtime.folder import open_serving
from unmask.runtime.huge_pages import Spans

ROWS = sample_rows(small_model("tokens"))
SHORT_ROW = next(row for row in ROWS if 5 < len(row.ids) <= SHORT)


def threads_of(engine: Engine) -> set[int]:
    """For which numbers of threads a model was opened."""
    return {threads for threads, _ in engine._sessions}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(small_model("tokens"), tmp_path_factory.mktemp("tags")).folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return open_serving(folder, threads=1).engine


def test_batch_mates_do_not_change_a_row(engine: Engine) -> None:
    together = engine.outputs(ROWS)
    for row, found in zip(ROWS, together, strict=True):
        np.testing.assert_allclose(engine.outputs([row])[0], found, atol=1e-5)


def test_the_order_of_rows_is_kept(engine: Engine) -> None:
    forwards, backwards = engine.outputs(ROWS), engine.outputs(ROWS[::-1])
    assert [len(found) for found in forwards] == [len(row.ids) for row in ROWS]
    for one, other in zip(forwards, reversed(backwards), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_no_rows_have_no_outputs(engine: Engine) -> None:
    assert engine.outputs([]) == []


def test_progress_counts_tokens_up_to_all_of_them(engine: Engine) -> None:
    told: list[tuple[int, int]] = []
    engine.outputs(ROWS, tokens=50, report=lambda *progress: told.append(progress))
    total = sum(len(row.ids) for row in ROWS)
    assert told == sorted(told)
    assert told[-1] == (total, total)


def test_no_batch_is_larger_than_asked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    run = engine.run

    def watch(rows: list[Row], fetch: list[str]) -> object:
        sizes.append(len(rows) * max(len(row.ids) for row in rows))
        return run(rows, fetch)

    monkeypatch.setattr(engine, "run", watch)
    engine.outputs(ROWS * 20, tokens=100)
    assert max(sizes) <= 100


def test_threads_with_batches_of_their_own_give_the_same_in_order(folder: Path) -> None:
    one, two = (open_serving(folder, threads=threads).engine for threads in (1, 2))
    rows = ROWS * (MANY // sum(len(row.ids) for row in ROWS) + 1)
    told: list[tuple[int, int]] = []
    found = two.outputs(rows, report=lambda *progress: told.append(progress))
    assert told == sorted(told)
    for ours, expected in zip(found, one.outputs(rows), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_a_model_that_works_much_moves_into_huge_pages_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[Spans] = []
    monkeypatch.setattr(huge_pages, "into_huge_pages", moved.append)
    engine = open_serving(folder, threads=1).engine
    engine._memory.spans = opened = [(0, 1)]
    before = engine.outputs(ROWS)
    assert not moved
    engine._memory.tokens = huge_pages.PAID
    for _ in range(2):
        assert all(map(np.array_equal, engine.outputs(ROWS), before))
    assert moved == [opened]


def test_a_large_model_is_opened_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.runtime.engine.TWICE", 10)
    monkeypatch.setattr("unmask.runtime.engine.FEW", 10)
    engine = open_serving(folder, threads=2).engine
    engine.outputs(ROWS[:1])
    engine.outputs(ROWS * 50)
    assert threads_of(engine) == {2}


@pytest.mark.parametrize(("busy", "few"), [(True, 1), (False, 2)])
def test_a_short_text_of_a_small_model_wakes_no_other_thread(
    busy: bool, few: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unmask.runtime.engine.FEW", SHORT * (folder / "onnx/model.onnx").stat().st_size)
    monkeypatch.setattr("unmask.runtime.engine.is_busy", lambda: busy)
    engine = open_serving(folder, threads=3).engine
    alone = engine.outputs([SHORT_ROW])
    assert threads_of(engine) == {few}
    several = engine.outputs([SHORT_ROW] * 5)  # together more than a short text
    assert threads_of(engine) == {few, 3}
    np.testing.assert_allclose(several, alone * 5, atol=1e-5)


def test_a_model_that_takes_longer_is_computed_by_all_threads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.runtime.engine.FEW", SHORT * (folder / "onnx/model.onnx").stat().st_size - 1)
    engine = open_serving(folder, threads=2).engine
    engine.outputs([Row([2, 3], [0, 0], 0)])
    assert threads_of(engine) == {2}


@pytest.mark.parametrize("become", ["another", "nothing"])
def test_an_engine_stays_what_it_was_when_its_file_does_not(become: str, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    shutil.copy(folder / "onnx/model.onnx", file)
    engine = Engine(file, "tokens", threads=2)
    expected = engine.outputs([SHORT_ROW])[0]
    file.unlink()
    if become == "another":
        file.write_bytes(bert_graph(small_model("classes")).SerializeToString())
    for found in engine.outputs([SHORT_ROW] * MANY):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_what_was_left_out_is_not_taken_from_another_file(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(bert_graph(small_model("pretraining")).SerializeToString())
    engine = Engine(file, "pretraining")
    file.unlink()
    with pytest.raises(InputError, match="no longer the one"):
        engine.outputs(ROWS)


@pytest.mark.parametrize(("load", "busy"), [("9.0 9.0 9.0 1/99 7", False), ("0.0 0.0 0.0 999/999 7", True)])
def test_a_machine_is_busy_by_what_runs_now(
    load: str, busy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loadavg").write_text(load)
    monkeypatch.setattr("unmask.runtime.engine.LOAD", tmp_path / "loadavg")
    assert is_busy() == busy


@pytest.mark.skipif(not LOAD.exists(), reason="this system does not say how many threads run")
def test_others_at_work_are_seen_at_once() -> None:
    count = usable_cores()
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        deadline = time.monotonic() + 20
        while not is_busy() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert is_busy()
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_at_least_one_core_may_be_used() -> None:
    assert usable_cores() >= 1


def test_answering_loads_no_torch_and_starts_at_once(folder: Path) -> None:
    code = (
        "import sys\nfrom unmask.apps.predict import Predictor\n"
        f"print(Predictor.open({str(folder)!r})('the fox was lazy').to_dict())\n"
        "heavy = {'torch', 'pyarrow', 'onnx', 'sklearn', 'scipy', 'transformers'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    started = time.monotonic()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "entities" in run.stdout
    assert time.monotonic() - started < 30  # half a second where nobody else works
