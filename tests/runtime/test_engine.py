"""The engine: answers do not depend on batch-mates or order, memory is bounded, and torch is never loaded."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from unmask.compress.export import export, sample_rows
from unmask.data.rows import Row
from unmask.runtime.engine import MANY, Engine, usable_cores
from unmask.runtime.folder import open_serving

ROWS = sample_rows(small_model("tokens"))


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
    assert "_of_one_thread" in vars(two)
    assert told == sorted(told)
    for ours, expected in zip(found, one.outputs(rows), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_a_few_rows_or_a_large_model_are_opened_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_serving(folder, threads=2).engine
    engine.outputs(ROWS)
    monkeypatch.setattr("unmask.runtime.engine.TWICE", 10)
    engine.outputs(ROWS * 50)
    assert "_of_one_thread" not in vars(engine)


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
