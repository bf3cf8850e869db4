"""What every test may use: the public data beside the project, where it exists; no deadline for single examples."""

from pathlib import Path

import pytest
from command import Command
from hypothesis import settings

settings.register_profile("unmask", deadline=None)  # a busy machine is no failure
settings.load_profile("unmask")
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets beside the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public data sets are not beside the project (../shared/data)")
    return SHARED_DATA


@pytest.fixture
def unmask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, as it is called in a shell."""
    return Command(monkeypatch, capsys)
