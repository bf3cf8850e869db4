from pathlib import Path

import pytest
import torch
from torch import nn

from unmask.training import checkpoint
from unmask.training.checkpoint import Checkpoint
from unmask.training.journal import Journal
from unmask.training.optim import make_optimiser


def state(number: float) -> dict[str, torch.Tensor]:
    return {"model.weight": torch.full((3,), number)}


def test_the_newest_is_taken_and_the_oldest_removed(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        checkpoint.save(tmp_path, Checkpoint(step, 10 * step, state(step)))
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert (found.step, found.journal_bytes) == (3, 30)
    assert len(list(tmp_path.iterdir())) == 2 * checkpoint.KEPT


@pytest.mark.parametrize("damage", [b"", b"x" * 200, None])
def test_a_damaged_one_falls_back_to_the_one_before_and_says_so(tmp_path: Path, damage: bytes | None) -> None:
    for step in (1, 2):
        checkpoint.save(tmp_path, Checkpoint(step, 0, state(step)))
    newest = tmp_path / "000000002.safetensors"
    newest.unlink() if damage is None else newest.write_bytes(damage)
    notes: list[str] = []
    found = checkpoint.latest(tmp_path, notes.append)
    assert found is not None
    assert found.step == 1
    assert "000000002.safetensors is damaged" in notes[0]


def test_weights_without_a_seal_do_not_count(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, Checkpoint(1, 0, state(1)))
    (tmp_path / "000000002.safetensors").write_bytes(b"half")
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.step == 1


@pytest.mark.parametrize("name", ["adamw", "muon", "lamb"])
def test_a_restored_training_goes_on_bit_for_bit(name: str) -> None:
    def fresh() -> tuple[nn.Linear, torch.optim.Optimizer]:
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        return model, make_optimiser(name, model)

    def steps(model: nn.Linear, optimiser: torch.optim.Optimizer, numbers: range) -> None:
        for number in numbers:
            for group in optimiser.param_groups:
                group["lr"] = 0.01
            optimiser.zero_grad()
            model(torch.full((3, 4), float(number))).square().sum().backward()
            optimiser.step()

    model, optimiser = fresh()
    steps(model, optimiser, range(3))
    kept = {key: value.clone() for key, value in checkpoint.collect(model, optimiser).items()}
    steps(model, optimiser, range(3, 6))
    other, other_optimiser = fresh()
    checkpoint.restore(kept, other, other_optimiser)
    steps(other, other_optimiser, range(3, 6))
    assert torch.equal(model.weight, other.weight)


def test_the_journal_can_be_cut_back_and_skips_a_half_written_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl")
    journal.append({"step": 1})
    length = journal.bytes
    journal.append({"step": 2})
    with journal.path.open("a") as file:
        file.write('{"step": 3')
    assert [event["step"] for event in journal.events()] == [1, 2]
    journal.cut(length)
    assert [event["step"] for event in journal.events()] == [1]
