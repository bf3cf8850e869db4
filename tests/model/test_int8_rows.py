"""Folders whose matrices are in int8: whole, small, and nearly as exact."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.int8_rows import exact, read_from_int8, rounded, stored_in_int8
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

TOKENIZER = Tokenizer([*SPECIAL_PIECES, "ann", "sang"])
CONFIG = BertConfig(vocabulary_size=7, width=64, layers=2, heads=2, feed_forward=128, positions=16)


@pytest.fixture
def model() -> BertWithHead:
    return BertWithHead(Bert(CONFIG), make_head("pretraining", CONFIG))


def saved(folder: Path, model: BertWithHead, dtype: str) -> Path:
    save_model(folder, CONFIG, model, TOKENIZER, About("pretraining"), dtype=dtype)
    return folder


def test_numbers_are_off_by_half_a_step_of_their_row_at_most() -> None:
    matrix = torch.randn(20, 30, generator=torch.manual_seed(0)) * torch.logspace(-3, 3, 20)[:, None]
    steps, scale = rounded(matrix)
    assert steps.dtype == torch.int8
    assert ((exact(steps, scale) - matrix).abs() <= 0.5001 * scale[:, None]).all()


def test_a_row_of_zeros_stays_one() -> None:
    assert exact(*rounded(torch.zeros(2, 3))).count_nonzero() == 0


def test_what_is_no_matrix_of_numbers_is_stored_as_it_is() -> None:
    tensors = {"bias": torch.randn(3), "rows": torch.ones(2, 2, dtype=torch.int32)}
    assert stored_in_int8(tensors) == tensors
    assert read_from_int8(tensors) == tensors


def test_a_whole_folder_in_int8_opens_nearly_as_it_was(tmp_path: Path, model: BertWithHead) -> None:
    opened = open_model(saved(tmp_path / "int8", model, "int8"))
    assert opened.base is None
    assert opened.report.unused == ()
    for name, value in opened.model.state_dict().items():
        wanted = model.state_dict()[name]
        assert (value - wanted).abs().max() <= 0.005 * wanted.abs().max() + 1e-4, name


def test_a_folder_in_int8_is_half_of_one_in_float16(tmp_path: Path, model: BertWithHead) -> None:
    half, quarter = (saved(tmp_path / dtype, model, dtype) / "model.safetensors" for dtype in ("float16", "int8"))
    assert {tensor.dtype for name, tensor in load_file(quarter).items() if name.endswith("@int8")} == {torch.int8}
    assert quarter.stat().st_size < 0.65 * half.stat().st_size  # small rows: scales and biases weigh more than usual


def test_storing_what_was_opened_from_int8_again_changes_nothing(tmp_path: Path, model: BertWithHead) -> None:
    once = open_model(saved(tmp_path / "once", model, "int8")).model
    assert isinstance(once, BertWithHead)
    again = open_model(saved(tmp_path / "again", once, "int8")).model.state_dict()
    for name, value in once.state_dict().items():
        assert torch.allclose(again[name], value, rtol=1e-3, atol=1e-6), name


def test_its_card_says_how_other_tools_open_it(tmp_path: Path, model: BertWithHead) -> None:
    card = (saved(tmp_path / "small", model, "int8") / "README.md").read_text()
    assert "unmask convert small -o whole" in card
    assert "transformers opens it" not in card
