"""The bar chart: a picture of the right kind, or a clear refusal and no file."""

from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.tasks.bars import draw_bars

SHARES = {"verb_agreement": 0.9, "islands": 0.4}


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    draw_bars(SHARES, tmp_path / "bars.png", title="small", chance=0.5)
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png"):
        draw_bars(SHARES, tmp_path / "bars.txt", title="small")
    assert not list(tmp_path.iterdir())
