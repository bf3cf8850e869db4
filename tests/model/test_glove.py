import numpy as np
import pytest
import torch

from unmask.data.neighbours import count_neighbours
from unmask.model.glove import ENOUGH, POWER, CellBatches, Cells, Glove, bias_line
from unmask.training.loop import Part, train
from unmask.training.optim import make_optimiser

CHANCE = np.random.default_rng(0)
# documents of twelve words on one of two subjects, each of which has six words
TEXT = (CHANCE.integers(0, 6, (200, 12)) + 6 * CHANCE.integers(0, 2, (200, 1))).flatten()
CELLS = Cells.of(count_neighbours(TEXT, 12))


def test_the_loss_is_the_papers() -> None:
    glove = Glove(12, 4, seed=1)
    losses, _ = glove(CELLS)
    expected = 0.0
    for row, column, count in zip(CELLS.rows, CELLS.columns, CELLS.counts, strict=True):
        said = glove.words.weight[row] @ glove.contexts.weight[column] + glove.biases.weight[row]
        error = (said + glove.context_biases.weight[column]).item() - np.log(count)
        expected += min(1.0, count / ENOUGH) ** POWER * error**2
    assert losses["glove"].item() == pytest.approx(expected, rel=1e-4)


def test_it_learns_far_below_what_one_bias_gives_and_finds_subjects() -> None:
    glove = Glove(12, 8)
    glove.begin_at_frequencies(CELLS)
    batches = CellBatches(CELLS, size=32)
    steps = train(
        glove,
        lambda step: [Part(0, cells := batches.at(step), len(cells.rows), {"glove": float(len(cells.rows))})],
        make_optimiser("adagrad", glove, decay=0.0),
        lambda _: 0.05,
        steps=range(300),
        clip=0.0,
    )
    losses = [step.loss for step in steps]
    assert np.mean(losses[-5:]) < 0.2 * bias_line(CELLS)
    unit = torch.nn.functional.normalize(glove.vectors, dim=1)
    alike = unit @ unit.T
    assert alike[0, 1:6].mean() > alike[0, 6:].mean() + 0.5


def test_every_weight_gets_a_gradient() -> None:
    glove = Glove(12, 4)
    losses, _ = glove(CELLS)
    losses["glove"].backward()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in glove.parameters())


def test_an_epoch_takes_every_cell_once_and_any_step_can_be_reached_at_once() -> None:
    batches = CellBatches(CELLS, size=10, seed=3)
    steps = batches.steps_an_epoch
    seen = [(row, column) for step in range(steps) for row, column in zip(*_pairs(batches.at(step)), strict=True)]
    assert len(seen) == len(set(seen)) == len(CELLS.rows)
    late = CellBatches(CELLS, size=10, seed=3).at(steps + 1)
    assert np.array_equal(late.rows, batches.at(steps + 1).rows)


def _pairs(cells: Cells) -> tuple[list[int], list[int]]:
    return cells.rows.tolist(), cells.columns.tolist()


def test_the_first_biases_are_those_of_independent_words() -> None:
    counts = np.outer([4.0, 2.0, 1.0], [4.0, 2.0, 1.0]).astype(np.float32)
    rows, columns = (part.flatten() for part in np.indices((3, 3)))
    glove = Glove(3, 2)
    glove.begin_at_frequencies(Cells(rows, columns, counts.flatten()))
    said = glove.biases.weight + glove.context_biases.weight.T
    torch.testing.assert_close(said.detach(), torch.from_numpy(np.log(counts)))
