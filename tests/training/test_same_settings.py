"""Settings of a training that is gone on with: other ones are named, hashes in words."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.tasks.finetuning import FineTuningSettings
from unmask.tasks.pretraining import PretrainingSettings
from unmask.training.same_settings import SETTINGS, check_same_settings


def test_other_settings_are_named_and_the_same_are_taken(tmp_path: Path) -> None:
    settings = PretrainingSettings(learning_rate=0.01, lengths=(64, 128))
    (tmp_path / SETTINGS).write_text(settings.to_json())
    check_same_settings(tmp_path, settings)
    with pytest.raises(InputError, match=r"learning_rate 0.01 there, 0.5 here"):
        check_same_settings(tmp_path, replace(settings, learning_rate=0.5))
    with pytest.raises(InputError, match=r"lengths \[64, 128\] there, \[64\] here"):
        check_same_settings(tmp_path, replace(settings, lengths=(64,)))


@pytest.mark.parametrize(("name", "meant"), [("data", "such as --length"), ("model", "other weights to start from")])
def test_hashes_are_told_in_words(tmp_path: Path, name: str, meant: str) -> None:
    (tmp_path / SETTINGS).write_text(replace(FineTuningSettings(), **{name: "a" * 64}).to_json())
    with pytest.raises(InputError, match=meant) as told:
        check_same_settings(tmp_path, replace(FineTuningSettings(), **{name: "b" * 64}))
    assert "aaaa" not in str(told.value)
    assert "bbbb" not in str(told.value)


def test_a_setting_that_was_not_known_then_had_its_default(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Settings:
        steps: int = 3
        newer: bool = False

    (tmp_path / SETTINGS).write_text('{"steps": 3}')
    check_same_settings(tmp_path, Settings())
    with pytest.raises(InputError, match="newer False there, True here"):
        check_same_settings(tmp_path, Settings(newer=True))


def test_a_folder_without_settings_is_free(tmp_path: Path) -> None:
    check_same_settings(tmp_path, PretrainingSettings())
