"""Sides measured in turns: each in its own process, the first round not counted."""

import os
from functools import partial
from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.lab.sides import Side, Work, in_turns


def works(folder: Path, name: str) -> dict[str, Work]:
    """A work that notes who did it in which process and with which setting."""

    def note() -> int:
        with (folder / "log").open("a") as log:
            log.write(f"{name} {os.getpid()} {os.environ.get('UNMASK_SIDE', '')}\n")
        return 3

    return {"noting": note, "failing": _fail}


def _fail() -> int:
    raise InputError("a side that cannot")


def test_sides_take_turns_in_processes_and_settings_of_their_own(tmp_path: Path) -> None:
    sides = {name: Side(partial(works, tmp_path, name), {"UNMASK_SIDE": name.upper()}) for name in ("ours", "theirs")}
    speeds = in_turns(sides, ["noting"], rounds=2)
    assert {name: len(rounds) for name, rounds in speeds["noting"].items()} == {"ours": 2, "theirs": 2}
    assert all(speed > 0 for rounds in speeds["noting"].values() for speed in rounds)
    names, processes, settings = zip(
        *(line.split() for line in (tmp_path / "log").read_text().splitlines()), strict=True
    )
    assert names == ("ours", "theirs") * 3
    assert settings == ("OURS", "THEIRS") * 3
    assert len({*processes, str(os.getpid())}) == 3
    assert "UNMASK_SIDE" not in os.environ


def test_what_goes_wrong_in_a_side_is_told_here(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a side that cannot"):
        in_turns({"ours": Side(partial(works, tmp_path, "ours"))}, ["failing"], rounds=1)
