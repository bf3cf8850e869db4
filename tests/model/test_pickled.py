"""Old .bin files: both forms are read, and nothing in them is run."""

import os
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from unmask.errors import InputError
from unmask.model.pickled import read_pickled

FORMS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


class Harmful:
    """Leaves a file behind when a plain unpickler opens it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.trace}",)


@FORMS
def test_named_tensors_come_back(tmp_path: Path, zipped: bool) -> None:
    tensors = OrderedDict(bias=torch.arange(3.0), half=torch.ones(2, 2, dtype=torch.float16), ids=torch.arange(4))
    torch.save(tensors, tmp_path / "model.bin", _use_new_zipfile_serialization=zipped)
    found = read_pickled(tmp_path / "model.bin")
    assert list(found) == list(tensors)
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


@FORMS
def test_a_harmful_file_is_named_and_not_run(tmp_path: Path, zipped: bool) -> None:
    trace = tmp_path / "trace"
    harmful = {"bias": torch.ones(2), "x": Harmful(trace)}
    torch.save(harmful, tmp_path / "model.bin", _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match=r"asks for posix.system; wanted tensors"):
        read_pickled(tmp_path / "model.bin")
    assert not trace.exists()


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_bare_harmful_pickle_is_not_run(tmp_path: Path, protocol: int) -> None:
    trace = tmp_path / "trace"
    (tmp_path / "model.bin").write_bytes(pickle.dumps(Harmful(trace), protocol=protocol))
    with pytest.raises(InputError):
        read_pickled(tmp_path / "model.bin")
    assert not trace.exists()


def test_a_whole_module_is_refused_by_name(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "model.bin")
    with pytest.raises(InputError, match=r"asks for torch.nn.modules.linear.Linear"):
        read_pickled(tmp_path / "model.bin")


@FORMS
@pytest.mark.parametrize("kept", [0, 7, 400])
def test_a_truncated_file_is_damaged(tmp_path: Path, zipped: bool, kept: int) -> None:
    torch.save({"bias": torch.ones(500)}, tmp_path / "model.bin", _use_new_zipfile_serialization=zipped)
    (tmp_path / "model.bin").write_bytes((tmp_path / "model.bin").read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged or no PyTorch file"):
        read_pickled(tmp_path / "model.bin")


@pytest.mark.parametrize(
    "content", [[torch.ones(2)], {"weights": {"bias": torch.ones(2)}}, {"steps": 3}, {3: torch.ones(2)}]
)
def test_anything_but_named_tensors_is_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "model.bin")
    with pytest.raises(InputError, match="wanted"):
        read_pickled(tmp_path / "model.bin")
