"""Figures for TensorBoard, read back with its own reader."""

import sys
from pathlib import Path

import pytest

from unmask.cli.tensorboard import scalars, tensorboard_writer
from unmask.errors import InputError
from unmask.tasks.pretraining import Standing
from unmask.training.loop import Step
from unmask.training.pace import Pace


def standing(number: int) -> Standing:
    step = Step(number, 90, 5.0 - number, {"mlm": 4.0 - number}, {"mlm_accuracy": 0.25}, 1e-3, 0.5)
    return Standing(step, {"mlm_loss": 3.0} if number == 2 else None, Pace.of(3), 1000.0)


@pytest.mark.filterwarnings("ignore")  # of tensorboard's own imports
def test_every_figure_of_every_step_can_be_read_back(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with tensorboard_writer(tmp_path) as write:
        for number in (1, 2, 3):
            write(standing(number))
    read = accumulator.EventAccumulator(str(tmp_path))
    read.Reload()
    assert set(read.Tags()["scalars"]) == {*scalars(standing(1)), "held out/mlm_loss"}
    assert [(e.step, e.value) for e in read.Scalars("training/mlm_loss")] == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert [(e.step, e.value) for e in read.Scalars("held out/mlm_loss")] == [(2, 3.0)]


def test_without_a_folder_nothing_is_written() -> None:
    with tensorboard_writer(None) as write:
        write(standing(1))


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"unmask\[lab\]"), tensorboard_writer(tmp_path):
        pass
