"""Many processes: the same parts, losses and weights as one; a worker that is killed; weights that are divided."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from together import SETTINGS, make_store, pretrain
from torch import Tensor

from unmask.data.store import Store
from unmask.errors import InputError
from unmask.tasks.objectives import OBJECTIVES
from unmask.tasks.parts import number_of_parts
from unmask.tasks.pretraining import Batches, PretrainingSettings
from unmask.training.distributed import Processes, divided, joined, whole
from unmask.training.journal import Journal

LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
KILLED = {"objective": "mlm+nsp", "steps": 30}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("together") / "text")


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


# How a step's sequences are divided


@given(st.integers(1, 300), st.sampled_from([32, 128, 512]), st.integers(16, 5000), st.integers(1, 9))
def test_every_process_gets_as_many_parts_and_each_part_a_sequence(
    rows: int, length: int, tokens: int, world: int
) -> None:
    if rows < world:
        with pytest.raises(InputError, match=f"{rows} sequences .* for {world} processes"):
            number_of_parts(rows, length, tokens, world)
        return
    number = number_of_parts(rows, length, tokens, world)
    assert number % world == 0
    assert world <= number <= rows
    if rows % world == 0 and tokens >= length:
        assert -(-rows // number) * length <= tokens


def test_two_processes_together_draw_what_one_draws(store: Path) -> None:
    text = Store.open(store)
    settings = PretrainingSettings(**SETTINGS)  # type: ignore[arg-type]

    def parts(processes: Processes) -> list[tuple[int, list[int]]]:
        batches = Batches(text, np.arange(90), text.tokenizer(), settings, processes=processes)
        return [(part.number, part.batch.ragged.ids.tolist()) for part in batches.parts(5, 32)]

    apart = [part for rank in range(2) for part in parts(Processes(rank, 2))]
    assert sorted(apart) == parts(Processes())


def test_one_process_alone_has_nobody_to_ask() -> None:
    with joined({}) as alone, alone.first_alone():
        assert alone == Processes(rank=0, world=1, local_rank=0)
        assert alone.gather({"tokens": 2.0}) == {"tokens": 2.0}
        assert alone.agree("yes") == "yes"
    tensor = torch.ones(2)
    assert whole(tensor) is divided(tensor, like=tensor) is tensor


# Two processes, really started


@dataclass(frozen=True)
class Runs:
    """Where the runs on one process (`one`) and on two are."""

    folder: Path

    def losses(self, name: str) -> list[float]:
        return [event["loss"] for event in Journal(self.folder / name / "run.jsonl").events()]

    def state(self, name: str) -> dict[str, Tensor]:
        """Weights and optimiser state at the end."""
        return load_file(max((self.folder / name / "checkpoints").glob("*.safetensors")))

    def model(self, name: str) -> dict[str, Tensor]:
        return load_file(self.folder / name / "model.safetensors")


OPTIMISERS = ("lamb", "muon")


@pytest.fixture(scope="module")
def runs(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Every objective on one process, on two, and on two that divide the weights."""
    folder = tmp_path_factory.mktemp("runs")
    cases: dict[str, dict[str, Any]] = {objective: {"objective": objective} for objective in OBJECTIVES}
    cases |= {name: {"objective": "mlm", "optimiser": name} for name in OPTIMISERS}
    cases["mlm+nsp"]["save_every"] = 0.0  # so that it can be taken back a step
    for name, changes in cases.items():
        pretrain(str(store), str(folder / "one" / name), **changes)
    on_two = [{"folder": str(folder / "two" / name), **changes} for name, changes in cases.items()]
    on_two += [{"folder": str(folder / "shards" / name), "shard": True, **c} for name, c in cases.items()]
    on_two += [{"folder": str(folder / "undisturbed"), **KILLED}]
    shutil.copytree(folder / "one" / "mlm+nsp", folder / "resumed_in_shards")
    forget_last(folder / "resumed_in_shards")
    on_two += [{"folder": str(folder / "resumed_in_shards"), "objective": "mlm+nsp", "shard": True}]
    (folder / "cases.json").write_text(json.dumps([{"store": str(store), **case} for case in on_two]))
    script = Path(__file__).with_name("together.py")
    subprocess.run([*LAUNCH, str(script), str(folder / "cases.json")], env=environment(), check=True, timeout=300)
    return Runs(folder)


def forget_last(run: Path) -> None:
    """Takes a finished run back to the step before its last, as if it had been stopped there."""
    last = max((run / "checkpoints").glob("*.json"))
    last.with_suffix(".safetensors").unlink()
    last.unlink()
    (run / "model.safetensors").unlink()


def assert_same(runs: Runs, name: str, expected: str) -> None:
    assert runs.losses(name) == pytest.approx(runs.losses(expected), rel=1e-5)
    torch.testing.assert_close(runs.state(name), runs.state(expected), rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(runs.model(name), runs.model(expected), rtol=1e-4, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two", "shards"])
@pytest.mark.parametrize("name", [*OBJECTIVES, *OPTIMISERS])
def test_two_processes_take_the_steps_of_one(runs: Runs, kind: str, name: str) -> None:
    assert len(runs.losses(f"one/{name}")) == SETTINGS["steps"]
    assert_same(runs, f"{kind}/{name}", f"one/{name}")


@pytest.mark.slow
def test_a_run_is_resumed_in_shards(runs: Runs) -> None:
    assert_same(runs, "resumed_in_shards", "one/mlm+nsp")


@pytest.mark.slow
def test_a_run_in_shards_is_resumed_whole(runs: Runs, store: Path) -> None:
    shutil.copytree(runs.folder / "shards" / "mlm+nsp", runs.folder / "resumed_whole")
    forget_last(runs.folder / "resumed_whole")
    pretrain(str(store), str(runs.folder / "resumed_whole"), objective="mlm+nsp")
    assert_same(runs, "resumed_whole", "one/mlm+nsp")


# A worker that dies


def workers_of(agent: int) -> list[int]:
    """The processes that torchrun has started."""
    return [int(child) for child in Path(f"/proc/{agent}/task/{agent}/children").read_text().split()]


def wait_for(run: Path, step: int, agent: "subprocess.Popen[str]") -> None:
    while len(list(Journal(run / "run.jsonl").events())) < step:
        assert agent.poll() is None
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the workers in /proc")
def test_killed_workers_are_restarted_and_the_run_ends_with_the_same_weights(runs: Runs, store: Path) -> None:
    folder = runs.folder / "killed"
    flags = "--size tiny --objective mlm+nsp --steps 30 --length 32 --batch-tokens 512 --part-tokens 128 --dropout 0.1"
    flags += " --optimiser adamw --precision float32"
    command = [*LAUNCH, "--max-restarts", "2", "-m", "unmask", "pretrain", str(store), "-o", str(folder)]
    command += [*flags.split(), "--held-out", "0.1", "--save-every", "0"]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as agent:
        for rank, step in enumerate((5, 12)):
            wait_for(folder, step, agent)
            os.kill(sorted(workers_of(agent.pid))[rank], signal.SIGKILL)
        _, said = agent.communicate(timeout=120)
    assert agent.returncode == 0, said
    assert said.count("going on from step") == 2
    assert runs.losses("killed") == runs.losses("undisturbed")
    state, expected = runs.state("killed"), runs.state("undisturbed")
    assert all(torch.equal(value, expected[name]) for name, value in state.items())
