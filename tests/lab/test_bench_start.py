"""Cold starts: the shape of the answer, a model to measure with, and processes that fail."""

from pathlib import Path

import pytest

from unmask.apps.load import load
from unmask.errors import InputError
from unmask.lab.bench_start import TEXT, Start, Starts, make_folder, time_to_answer


def rounds(*seconds: float) -> tuple[Start, ...]:
    return tuple(Start(taken, taken / 2) for taken in seconds)


def test_medians_and_their_ratio() -> None:
    fields = Starts(rounds(0.1, 0.3, 0.2), rounds(2.0, 1.0, 9.0), rounds(8.0, 1.0, 9.0)).to_dict()
    assert (fields["ours"], fields["theirs"], fields["ratio"], fields["help"]) == (2.0, 8.0, 0.25, 0.2)
    assert fields["cpu_seconds"] == {"help": 0.1, "ours": 1.0, "theirs": 4.0}


def test_without_a_rival_there_is_no_ratio() -> None:
    fields = Starts(rounds(0.1), rounds(2.0)).to_dict()
    assert (fields["theirs"], fields["ratio"]) == (None, None)


def test_the_folder_made_for_it_fills_the_text(tmp_path: Path) -> None:
    make_folder(tmp_path / "tiny", "tiny")
    (mask,) = load(tmp_path / "tiny")(TEXT).masks
    assert (TEXT[mask.start : mask.end], len(mask.candidates)) == ("[MASK]", 5)


def test_the_time_of_a_process_ends_with_its_first_line() -> None:
    assert time_to_answer(["-c", "import time; print('now', flush=True); time.sleep(2)"]).seconds < 1.9


def test_a_process_without_an_answer_is_an_error() -> None:
    with pytest.raises(InputError, match="ValueError: no"):
        time_to_answer(["-c", "raise ValueError('no')"])


def test_work_is_counted_in_seconds_of_the_processor() -> None:
    idle, busy = (time_to_answer(["-c", f"print(sum(range({n})))"]).cpu_seconds for n in (1, 30_000_000))
    assert busy > idle + 0.1


def test_the_command_answers_help_in_time() -> None:
    assert min(time_to_answer(["-m", "unmask", "--help"]).cpu_seconds for _ in range(3)) < 0.4
