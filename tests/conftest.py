"""Fixtures that every test may use: the public data beside the project, where it exists."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets beside the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data sets are not beside the project (../shared/data)")
    return SHARED_DATA
