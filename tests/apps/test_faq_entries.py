"""FAQ files are read whatever their form; what is wrong with them is counted and said."""

import json
from pathlib import Path

import pytest

from unmask.apps.faq_entries import Entry, merged, read_entries, read_faq, read_questions, write_entries
from unmask.errors import InputError

ROWS = [
    {"question": "How do I pay?", "answer": "By card.", "paraphrases": ["Can I pay by card?", "card payment"]},
    {"question": "什么时候开门？", "answer": "九点。", "paraphrases": []},
]


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_tsv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    lines = [(row["question"], row["answer"], "|".join(row["paraphrases"])) for row in ROWS]
    head = ("question", "answer", "paraphrases")
    files = [
        written(tmp_path, "faq.csv", "\n".join(",".join(cells) for cells in [head, *lines])),
        written(tmp_path, "faq.tsv", "\n".join("\t".join(cells) for cells in [head, *lines])),
        written(tmp_path, "faq.jsonl", "\n".join(json.dumps(row) for row in ROWS)),
    ]
    first, *others = [read_faq([file]).entries for file in files]
    assert first[0] == Entry("How do I pay?", "By card.", ("Can I pay by card?", "card payment"))
    assert all(entries == first for entries in others)
    assert read_faq(files).entries == first


def test_questions_with_several_answers_are_kept_counted_and_said(tmp_path: Path) -> None:
    reading = read_faq(
        [written(tmp_path, "faq.csv", "question,answer\nWhen?,At nine.\nwhen? ,Never.\n,Lost.\nWho?,\n")]
    )
    assert [entry.answer for entry in reading.entries] == ["At nine.", "Never."]
    assert reading.conflicts == 1
    assert reading.notes == (
        "2 rows without a question or an answer left out",
        "1 question has several answers, all of them kept, such as 'when?'",
    )


def test_rows_of_one_answer_are_one_entry() -> None:
    rows = [Entry("a?", "yes"), Entry("b?", "no"), Entry("A? ", " YES "), Entry("c?", "yes", ("a?", " "))]
    assert merged(rows) == (Entry("a?", "yes", ("c?",)), Entry("b?", "no"))


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        ("title,body\nq,a\n", {}, "with columns 'title', 'body'; wanted a column 'question'"),
        ("question,body\nq,a\n", {}, "wanted a column 'answer'; name it with --columns answer=NAME"),
        ("question,answer\nq,a\n", {"paraphrases": "others"}, "wanted a column 'others'"),
        ("question,answer\nq,a\n", {"label": "x"}, "--columns label=…; wanted question=NAME, answer=NAME"),
        ("question,answer\n", {}, "no entries in"),
        ("question,answer\n ,a\n", {}, "no entries in"),
    ],
)
def test_a_file_at_fault_is_named(tmp_path: Path, text: str, columns: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_faq([written(tmp_path, "faq.csv", text)], columns=columns)


def test_other_faults_are_named_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        read_faq([tmp_path / "nowhere.csv"])
    with pytest.raises(InputError, match="paraphrases 7; wanted a list of texts"):
        read_faq([written(tmp_path, "faq.jsonl", '{"question": "q", "answer": "a", "paraphrases": 7}')])


def test_other_column_names_are_mapped(tmp_path: Path) -> None:
    file = written(tmp_path, "faq.csv", "title,body,ways\nq?,a,r?|s?\n")
    names = {"question": "title", "answer": "body", "paraphrases": "ways"}
    assert read_faq([file], columns=names).entries == (Entry("q?", "a", ("r?", "s?")),)


def test_entries_come_back_as_they_were_written(tmp_path: Path) -> None:
    entries = (Entry('a "b", c?', "line\nline | 三", ("x|y",)), Entry("d?", "e"))
    write_entries(entries, tmp_path / "entries.jsonl")
    assert read_entries(tmp_path / "entries.jsonl") == entries
    (tmp_path / "entries.jsonl").write_text("{")
    with pytest.raises(InputError, match="damaged or missing"):
        read_entries(tmp_path / "entries.jsonl")


def test_questions_to_measure_on_may_have_no_answer(tmp_path: Path) -> None:
    file = written(tmp_path, "asked.csv", "question,answer,paraphrases\nq?,a,r?|s?\nt?,,\n,b,\n")
    assert read_questions(file) == (["q?", "r?", "s?", "t?"], ["a", "a", "a", ""])
    with pytest.raises(InputError, match="no questions in"):
        read_questions(written(tmp_path, "none.csv", "question,answer\n,a\n"))
