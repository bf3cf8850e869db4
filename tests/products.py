"""Products in lower precision: a test that needs them is skipped on a machine where they would end the process."""

import pytest

from unmask.training.half_precision import multiplies_in


def need_products_in(precision: str) -> None:
    """Skips the test that calls it where this CPU does not multiply in a precision."""
    if not multiplies_in(precision):
        pytest.skip("this CPU names AMX instructions that it does not carry out")
