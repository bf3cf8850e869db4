"""Pairs are read with their values, or without; a third text is a hard negative."""

from pathlib import Path

import pytest

from unmask.data.examples import TextExample
from unmask.data.paired import read_pairs
from unmask.errors import InputError


def test_a_column_of_labels_makes_values(tmp_path: Path) -> None:
    file = tmp_path / "valued.csv"
    file.write_text("text_a,text_b,label\nA cat,A dog,3.5\n,A dog,1\n")
    reading = read_pairs(file)
    assert reading.examples == (TextExample("A cat", "A dog", 3.5),)
    assert reading.notes == ("1 empty text left out",)
    assert [example.label for example in read_pairs(file, labelled=False).examples] == [None, None]


def test_without_one_pairs_belong_together_and_a_third_text_does_not(tmp_path: Path) -> None:
    file = tmp_path / "paired.csv"
    file.write_text("ask,text_b,text_c\nWho?,Ann,Paris\nWhere?,Rome,\nWhy?,,x\n")
    reading = read_pairs(file, columns={"text_a": "ask"})
    assert reading.examples == (TextExample("Who?", "Ann", negative="Paris"), TextExample("Where?", "Rome"))
    assert [place.rsplit(" ", 1)[1] for place in reading.places] == ["2", "3"]


def test_a_file_of_empty_pairs_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("text_a,text_b\nWho?,\n")
    with pytest.raises(InputError, match="rows with two texts"):
        read_pairs(file)
