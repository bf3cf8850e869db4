"""Labelled tables: every format gives the same examples as csv and json do, and every fault is named by its place."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.examples import Reading, TextExample
from unmask.data.tables import Layout, check_labels, read_table
from unmask.errors import InputError

ROWS = [("A quiet, fine film", "1"), ('He said "no"', "0"), ("雪落下来", "1")]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def as_csv(rows: list[tuple[str, ...]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()


def parquet(folder: Path) -> Path:
    import pyarrow
    from pyarrow.parquet import write_table

    texts, labels = zip(*ROWS, strict=True)
    write_table(pyarrow.table({"text": texts, "label": list(map(int, labels))}), folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.fixture(params=["csv", "csv.gz", "crlf.tsv", "bom.csv", "jsonl", "json", "parquet", "tsv.zst"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    header_and_rows = [("text", "label"), *ROWS]
    objects = [{"text": text, "label": int(label)} for text, label in ROWS]
    tabs = "".join(f"{text}\t{label}\n" for text, label in header_and_rows)
    if request.param == "parquet":
        return parquet(tmp_path)
    if request.param == "tsv.zst":
        import pyarrow

        return write(tmp_path, "rows.tsv.zst", pyarrow.compress(tabs.encode(), codec="zstd", asbytes=True))
    contents: dict[str, str | bytes] = {
        "csv": as_csv(header_and_rows),
        "csv.gz": gzip.compress(as_csv(header_and_rows).encode()),
        "crlf.tsv": tabs.replace("\n", "\r\n"),
        "bom.csv": "\ufeff" + as_csv(header_and_rows),
        "jsonl": "\n".join(map(json.dumps, objects)),
        "json": json.dumps(objects, indent=1),
    }
    return write(tmp_path, f"rows.{request.param}", contents[request.param])


def test_every_format_gives_the_same_examples(table: Path) -> None:
    reading = read_table(table)
    assert [(example.text, example.label) for example in reading.examples] == ROWS
    assert reading.notes == ()


@given(
    rows=st.lists(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1), st.sampled_from("ab")),
        min_size=1,
    )
)
def test_a_csv_is_read_as_the_csv_module_reads_it(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = write(tmp_path_factory.mktemp("csv"), "rows.csv", as_csv([("text", "label"), *rows]))
    theirs = list(csv.DictReader(io.StringIO(file.read_bytes().decode(), newline="")))
    assert [(row["text"], row["label"]) for row in theirs] == rows
    kept = [row for row in rows if row[0].strip()]
    if kept:
        assert [(example.text, example.label) for example in read_table(file).examples] == kept


def test_columns_are_mapped_and_pairs_and_ids_are_read(tmp_path: Path) -> None:
    file = write(tmp_path, "pairs.csv", "q1,q2,same,key\nHow?,How so?,yes,k7\n")
    columns = {"text_a": "q1", "text_b": "q2", "label": "same", "id": "key"}
    assert read_table(file, columns=columns).examples == (TextExample("How?", "How so?", "yes", "k7"),)


def test_several_labels_come_as_a_list_or_with_a_separator(tmp_path: Path) -> None:
    lists = write(tmp_path, "a.jsonl", '{"text": "x", "label": ["b", "a"]}\n{"text": "y", "label": []}')
    string = write(tmp_path, "a.csv", "text,label\nx,b | a\ny,\n")
    assert [example.label for example in read_table(lists, labels="several").examples] == [("b", "a"), ()]
    assert [example.label for example in read_table(string, labels="several").examples] == [("b", "a"), ()]


def test_values_are_numbers(tmp_path: Path) -> None:
    file = write(tmp_path, "values.tsv", "text\tlabel\nx\t4.750\ny\t-1e3\n")
    assert [example.label for example in read_table(file, labels="value").examples] == [4.75, -1000.0]


def test_classes_of_json_are_words_whatever_their_type(tmp_path: Path) -> None:
    file = write(tmp_path, "a.jsonl", '{"text": "x", "label": 1}\n{"text": "y", "label": true}')
    assert [example.label for example in read_table(file).examples] == ["1", "true"]


def test_a_header_is_known_by_its_names_where_it_may_be_absent(tmp_path: Path) -> None:
    layout = Layout(text=("sentence",), columns=("source", "label", "mark", "sentence"))
    bare = write(tmp_path, "train.tsv", 'ab01\t0\t*\tHe "sing.\n')
    named = write(tmp_path, "test.tsv", "index\tsentence\n7\tShe sings.\n")
    assert read_table(bare, layout=layout).examples == (TextExample('He "sing.', label="0"),)
    assert read_table(named, layout=layout, labelled=False).examples == (TextExample("She sings.", id="7"),)


def test_a_file_without_header_may_lack_its_labels(tmp_path: Path) -> None:
    layout = Layout(columns=("text_a", "text_b", "label"))
    file = write(tmp_path, "test.txt", "one\ttwo\n\nthree\tfour\n")
    assert read_table(file, layout=layout, labelled=False).examples == (
        TextExample("one", "two"),
        TextExample("three", "four"),
    )
    with pytest.raises(InputError, match=r"test.txt with columns 'text_a', 'text_b'; wanted a column 'label'"):
        read_table(file, layout=layout)


def test_plain_text_is_a_text_a_line_or_a_pair_with_a_tab(tmp_path: Path) -> None:
    texts = write(tmp_path, "a.txt", "one\n\nthree\n")
    pairs = write(tmp_path, "b.txt", "one\ttwo\n")
    assert [example.text for example in read_table(texts, labelled=False).examples] == ["one", "", "three"]
    assert read_table(pairs, labelled=False).examples == (TextExample("one", "two"),)


def test_labels_are_not_read_where_they_are_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "text,label\nx,\n")
    assert read_table(file, labelled=False).examples == (TextExample("x"),)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    file = write(tmp_path, "a.tsv", "text\tlabel\n \ty\nx\t-\ny\ty\nbroken\n\ty\n")
    reading = read_table(file, layout=Layout(unlabelled=("-",), broken=True))
    assert [example.text for example in reading.examples] == ["y"]
    assert reading.places == (f"{file} line 4",)
    assert reading.notes == (
        "2 empty texts left out",
        "1 row without a label left out",
        "1 row with missing or extra cells left out",
    )


FAULTS = {
    "missing text column": ("a.csv", "review,label\nx,1\n", r"a.csv with columns 'review', 'label'; wanted .*'text'"),
    "missing label column": ("a.csv", "text,stars\nx,1\n", r"a.csv with columns 'text', 'stars'; wanted .*'label'"),
    "extra cell": ("a.csv", 'text,label\n"a\nb",1\nx,1,2\n', r"a.csv line 4: 3 cells under 2 columns"),
    "missing cell": ("a.tsv", "text\tlabel\nx\n", r"a.tsv line 2: 1 cells under 2 columns"),
    "bad json": ("a.jsonl", '{"text": "x", "label": 1}\n{"text": }', r"a.jsonl line 2: Expecting value"),
    "broken array": ("a.json", '[{"text": "x"},\n}]', r"a.json line 2 column 1"),
    "array of words": ("a.json", '["x"]', r"a.json \[0\]: a str"),
    "key absent": ("a.jsonl", '{"text": "x", "label": 1}\n{"text": "y"}', r"a.jsonl line 2 without 'label'"),
    "text is a list": ("a.jsonl", '{"text": ["x"], "label": 1}', r"a.jsonl line 1, column 'text': a list"),
    "label is null": ("a.jsonl", '{"text": "x", "label": null}', r"a.jsonl line 1, column 'label': no label"),
    "label is empty": ("a.csv", "text,label\nx,1\ny,\n", r"a.csv line 3, column 'label': no label"),
    "mixed encodings": ("a.csv", b"text,label\n\xe9\x9b\xaa,1\ncaf\xe9,0\n", r"a.csv line 3: byte 0xe9 is not UTF-8"),
    "open quote": ("a.csv", 'text,label\n"x,1\n', r"a.csv line 2: unexpected end of data"),
    "header only": ("a.csv", "text,label\n", r"no examples in .*a.csv"),
    "empty file": ("a.tsv", "", r"no examples in .*a.tsv"),
}


@pytest.mark.parametrize(("name", "content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_by_file_line_and_column(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(write(tmp_path, name, content))


@pytest.mark.parametrize("value", ["good", "", "nan", "inf"])
def test_a_value_that_is_no_number_is_named(tmp_path: Path, value: str) -> None:
    file = write(tmp_path, "a.csv", f"text,label\nx,1.5\ny,{value}\n")
    with pytest.raises(InputError, match=r"a.csv line 3, column 'label': .*; wanted a number"):
        read_table(file, labels="value")


def test_several_labels_must_be_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1, column 'label': a int; wanted a list"):
        read_table(write(tmp_path, "a.jsonl", '{"text": "x", "label": 3}'), labels="several")


def test_an_unknown_column_to_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a column for 'txt'"):
        read_table(write(tmp_path, "a.csv", "text,label\nx,1\n"), columns={"txt": "review"})


def reading_of(*labels: str | tuple[str, ...] | float) -> Reading:
    examples = tuple(TextExample("x", label=label) for label in labels)
    return Reading(examples, places=tuple(f"dev.csv line {number}" for number in range(2, 2 + len(labels))))


def test_labels_are_ordered_by_number_or_name() -> None:
    assert check_labels(reading_of("10", "9", "9")) == ("9", "10")
    assert check_labels(reading_of(("b", "a"), ("c",))) == ("a", "b", "c")


def test_a_label_that_train_lacks_is_named_by_its_line() -> None:
    with pytest.raises(InputError, match=r"dev.csv line 3: label 'maybe', which no training example has.*'no', 'yes'"):
        check_labels(reading_of("yes", "no"), reading_of("no", "maybe"))


def test_a_single_class_is_refused() -> None:
    with pytest.raises(InputError, match=r"the one label 'yes' in all 2 training examples"):
        check_labels(reading_of("yes", "yes"))
