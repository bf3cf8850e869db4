"""Multiple choice in the layouts of SWAG, CODAH, C3 and plain tables, and every fault by its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from unmask.data.choices import CODAH, SWAG, read_c3, read_choices
from unmask.data.examples import ChoiceExample
from unmask.errors import InputError


def write(folder: Path, name: str, content: str) -> Path:
    file = folder / name
    file.write_text(content, encoding="utf-8")
    return file


def test_swag_puts_the_second_sentence_before_each_ending(tmp_path: Path) -> None:
    header = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
    row = '0,clip7,9,It rains. Ann,It rains.,Ann,gold,"opens, slowly, a door.",sings.,sleeps.,melts.,2\n'
    [example] = read_choices(write(tmp_path, "train.csv", header + row), layout=SWAG).examples
    endings = ("Ann opens, slowly, a door.", "Ann sings.", "Ann sleeps.", "Ann melts.")
    assert example == ChoiceExample("It rains.", endings, 2, id="clip7")


def test_codah_has_no_header_and_literal_quotes(tmp_path: Path) -> None:
    file = write(tmp_path, "dev.tsv", 'o\tAnn said "no\tand left.\tand sang.\tand ate.\tand flew.\t1\n')
    [example] = read_choices(file, layout=CODAH).examples
    assert example == ChoiceExample('Ann said "no', ("and left.", "and sang.", "and ate.", "and flew."), 1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,context,question,ending0,ending1,label\nk,It rains.,Why?,Clouds.,Fish.,0\n"),
        (
            "a.jsonl",
            '{"id": "k", "context": "It rains.", "question": "Why?", "endings": ["Clouds.", "Fish."], "label": 0}',
        ),
    ],
)
def test_plain_tables_have_endings_in_columns_or_a_list(tmp_path: Path, name: str, content: str) -> None:
    file = write(tmp_path, name, content)
    expected = ChoiceExample("It rains.", ("Clouds.", "Fish."), 0, "Why?", "k")
    assert read_choices(file).examples == (expected,)
    [unlabelled] = read_choices(file, labelled=False).examples
    assert unlabelled.label is None


def test_columns_are_mapped(tmp_path: Path) -> None:
    file = write(tmp_path, "a.jsonl", '{"story": "x", "options": ["a", "b", "c"], "gold": "2"}')
    [example] = read_choices(file, columns={"context": "story", "endings": "options", "label": "gold"}).examples
    assert example == ChoiceExample("x", ("a", "b", "c"), 2)
    with pytest.raises(InputError, match="a column for 'text'"):
        read_choices(file, columns={"text": "story"})


def test_ten_endings_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = [f"ending{number}" for number in range(11)]
    file = write(tmp_path, "a.csv", f"context,{','.join(names)},label\nx,{','.join(names)},10\n")
    assert read_choices(file).examples[0].endings == tuple(names)


def test_rows_with_empty_texts_are_counted(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "context,ending0,ending1,label\n,a,b,0\nx,a,b,1\nx,a,,0\n")
    reading = read_choices(file)
    assert len(reading.examples) == 1
    assert reading.notes == ("2 rows with an empty text left out",)


FAULTS = {
    "no context": ("a.csv", "text,ending0,ending1,label\nx,a,b,0\n", r"a.csv with columns .*wanted a column 'context'"),
    "no label": ("a.csv", "context,ending0,ending1\nx,a,b\n", r"a.csv with columns .*wanted a column 'label'"),
    "one ending": ("a.csv", "context,ending0,label\nx,a,0\n", r"a.csv line 2: bad endings; wanted two or more"),
    "no ending": ("a.csv", "context,label\nx,0\n", r"a.csv line 2: no endings; wanted two or more"),
    "label": ("a.csv", "context,ending0,ending1,label\nx,a,b,2\n", r"a.csv line 2, column 'label': '2'; .*0 to 1"),
    "word": ("a.csv", "context,ending0,ending1,label\nx,a,b,first\n", r"a.csv line 2, column 'label': 'first'"),
    "list": ("a.jsonl", '{"context": "x", "endings": "ab", "label": 0}', r"a.jsonl line 1: bad endings"),
    "nothing": ("a.csv", "context,ending0,ending1,label\n", r"no examples in .*a.csv"),
}


@pytest.mark.parametrize(("name", "content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_by_its_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_choices(write(tmp_path, name, content))


def c3(folder: Path, *questions: Any) -> Path:
    return write(folder, "c3-d-train.json", json.dumps([[["男：下雨了。", "女：带伞。"], list(questions), "7-1"]]))


def test_c3_joins_the_lines_of_a_dialogue(tmp_path: Path) -> None:
    question = {"question": "天气怎么样?", "choice": ["晴", "雨", "雪"], "answer": "雨"}
    expected = ChoiceExample("男：下雨了。\n女：带伞。", ("晴", "雨", "雪"), 1, "天气怎么样?", "7-1-0")
    assert read_c3(c3(tmp_path, question)).examples == (expected,)
    del question["answer"]
    assert read_c3(c3(tmp_path, question), labelled=False).examples[0].label is None


C3_FAULTS: dict[str, tuple[Any, str]] = {
    "answer": ({"question": "x", "choice": ["a", "b"], "answer": "c"}, r"\[0\]\[1\]\[0\]: answer 'c'; wanted one of"),
    "no choice": ({"question": "x", "answer": "c"}, r"\[0\]\[1\]\[0\]; wanted an object"),
    "one choice": ({"question": "x", "choice": ["a"], "answer": "a"}, r"\[0\]\[1\]\[0\]; wanted .* two choices"),
    "no object": ("x", r"\[0\]\[1\]\[0\]; wanted an object"),
}


@pytest.mark.parametrize(("question", "message"), C3_FAULTS.values(), ids=C3_FAULTS)
def test_a_fault_of_c3_is_named_by_its_path(tmp_path: Path, question: Any, message: str) -> None:
    with pytest.raises(InputError, match=r"c3-d-train.json " + message):
        read_c3(c3(tmp_path, question))


@pytest.mark.parametrize("content", ["{}", "[[1, 2]]", "[]"])
def test_a_file_that_is_no_c3_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"passages|lines of the passage"):
        read_c3(write(tmp_path, "dev.json", content))
