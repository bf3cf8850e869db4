"""Which precision a run has: what the CPU gains from, and never one that it only claims to have."""

import pytest
import torch

from unmask.errors import InputError
from unmask.training import half_precision
from unmask.training.half_precision import settled_precision


@pytest.fixture
def capable(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """What this CPU says that it can do, for a test to fill in."""
    said: dict[str, bool] = {}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: said)
    half_precision.multiplies_in.cache_clear()
    monkeypatch.setattr(half_precision, "multiplies_in", half_precision.multiplies_in.__wrapped__)
    return said


def test_a_product_that_ends_its_process_is_noticed_and_told(
    monkeypatch: pytest.MonkeyPatch, capable: dict[str, bool]
) -> None:
    capable["amx_tile"] = True
    monkeypatch.setattr(half_precision, "TRIAL", "import os; os.abort()  # {precision}")
    with pytest.raises(InputError, match="bfloat16 products end the process") as told:
        settled_precision("bfloat16", "cpu")
    assert "--precision" in str(told.value)


def test_bfloat16_is_taken_where_the_cpu_has_instructions_for_it(capable: dict[str, bool]) -> None:
    assert settled_precision("auto", "cpu") == "float32"
    capable["avx512_bf16"] = True
    assert settled_precision("auto", "cpu") == "bfloat16"


def test_instructions_that_end_the_process_are_not_taken(
    monkeypatch: pytest.MonkeyPatch, capable: dict[str, bool]
) -> None:
    capable |= {"amx_tile": True, "amx_bf16": True}
    monkeypatch.setattr(half_precision, "TRIAL", "import os; os.abort()  # {precision}")
    assert settled_precision("auto", "cpu") == "float32"


def test_what_a_user_asks_for_is_taken_as_it_is(capable: dict[str, bool]) -> None:
    capable["avx512_bf16"] = True
    assert settled_precision("float32", "cpu") == "float32"
    with pytest.raises(InputError, match="auto or float32 or bfloat16"):
        settled_precision("float8", "cpu")
