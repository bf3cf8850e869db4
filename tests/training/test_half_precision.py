"""A precision that the CPU only claims to have is refused before a run begins."""

import pytest

from unmask.errors import InputError
from unmask.training import half_precision


def test_a_product_that_ends_its_process_is_noticed_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_precision, "TRIAL", "import os; os.abort()  # {precision}")
    half_precision.multiplies_in.cache_clear()
    try:
        with pytest.raises(InputError, match="bfloat16 products end the process") as told:
            half_precision.check_precision("bfloat16", "cpu")
    finally:
        half_precision.multiplies_in.cache_clear()
    assert "--precision" in str(told.value)
