"""Progress in plain lines: what is done, what is left, and how long that takes."""

import re

import pytest

from unmask.cli.console import _PlainLines


def lines_of(
    steps: list[tuple[float, float]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What is printed where these amounts were done at these seconds, of 1,000 in all."""
    progress = _PlainLines("learning", 1000, "steps")
    clock = iter([progress.started + second for second, _ in steps])
    monkeypatch.setattr("unmask.cli.console.time.monotonic", lambda: next(clock))
    for _, done in steps:
        progress.update(done)
    return capsys.readouterr().err.splitlines()


def left(line: str) -> str | None:
    found = re.search(r" left (\S+)", line)
    return found and found[1]


def test_a_resumed_run_counts_its_speed_from_where_it_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of([(10.0, 800.0), (20.0, 810.0), (30.0, 820.0)], capsys, monkeypatch)
    assert [left(line) for line in lines] == [None, "3:10", "3:00"]


def test_a_fresh_run_says_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of([(1.0, 1.0), (10.0, 10.0), (1000.0, 1000.0)], capsys, monkeypatch)
    assert [left(line) for line in lines] == ["16:30", None]
