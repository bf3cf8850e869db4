"""Tagged sentences: columns and json lines in the official layouts, and every fault by its place."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.examples import TaggedExample
from unmask.data.tagged import join_words, read_tagged, tag_spans
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES
from unmask.text.word_spans import word_spans

CONLL = """-DOCSTART- -X- O O

Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
sang VBD I-VP O
. . O O

Oslo NNP I-NP I-LOC

-DOCSTART- -X- O O

It PRP I-NP O
"""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def words_of(example: TaggedExample) -> list[str]:
    return [example.word(number) for number in range(len(example.words))]


@pytest.mark.parametrize("separator", [" ", "\t", "   "])
def test_conll_columns_give_words_tags_and_documents(tmp_path: Path, separator: str) -> None:
    reading = read_tagged(write(tmp_path, "eng.train.gz", gzip.compress(CONLL.replace(" ", separator).encode())))
    first, second, third = reading.examples
    assert words_of(first) == ["Ann", "Lee", "sang", "."]
    assert first.text == "Ann Lee sang ."
    assert first.tags == ("I-PER", "I-PER", "O", "O")
    assert [first.document, second.document, third.document] == [0, 0, 1]
    assert reading.places[1].endswith("eng.train.gz line 8")


def test_chinese_characters_stand_side_by_side(tmp_path: Path) -> None:
    file = write(tmp_path, "train.bio.txt", "".join(f"{character}\tO\n" for character in "他１９岁，USA。") + "\n")
    [example] = read_tagged(file).examples
    assert example.text == "他１ ９岁，U S A。"
    assert words_of(example) == list("他１９岁，USA。")


def test_sentences_without_document_marks_stand_alone(tmp_path: Path) -> None:
    reading = read_tagged(write(tmp_path, "a.bio", "一 O\n\n二 O\n\n\n三 O"))
    assert [example.document for example in reading.examples] == [0, 1, 2]


def test_numbers_behind_characters_are_taken_off(tmp_path: Path) -> None:
    file = write(tmp_path, "weibo.train", "李0\tB-PER.NAM\n白1\tI-PER.NAM\n30\tO\n310\tO\nk12\tO\n")
    [example] = read_tagged(file).examples
    assert words_of(example) == ["李", "白", "3", "3", "k"]


def test_digits_that_belong_to_words_stay(tmp_path: Path) -> None:
    [example] = read_tagged(write(tmp_path, "a.txt", "B2 O\nin O\n")).examples
    assert words_of(example) == ["B2", "in"]


def test_tokens_and_tags_of_json_lines(tmp_path: Path) -> None:
    file = write(tmp_path, "a.jsonl", json.dumps({"words": ["Ann", "sang"], "ner": ["B-PER", "O"]}))
    [example] = read_tagged(file, columns={"tokens": "words", "tags": "ner"}).examples
    assert (example.text, example.tags) == ("Ann sang", ("B-PER", "O"))


def test_spans_become_tags_of_words(tmp_path: Path) -> None:
    text = "Ann Lee 去了北京."
    spans = [{"start": 10, "end": 12, "type": "LOC"}, {"start": 0, "end": 7, "type": "PER"}]
    [example] = read_tagged(write(tmp_path, "a.jsonl", json.dumps({"text": text, "spans": spans}))).examples
    assert words_of(example) == ["Ann", "Lee", *"去了北京."]
    assert example.tags == ("B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O")


def test_spans_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    spans = [(0, 2, "PER"), (1, 7, "ORG"), (3, 4, "LOC")]
    rows = [{"text": "Ann sang.", "spans": [{"start": s, "end": e, "type": t} for s, e, t in spans]}] * 2
    reading = read_tagged(write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))))
    assert reading.examples[0].tags == ("B-PER", "O", "O")
    place = f"(first: {tmp_path / 'a.jsonl'} line 1)"
    assert reading.notes == (
        f"2 spans that cut words widened to whole words {place}",
        f"2 spans that overlap an earlier one left out {place}",
        f"2 spans without a word left out {place}",
    )


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6), st.sampled_from("XY")), max_size=5))
def test_words_inside_a_kept_span_have_its_type(spans: list[tuple[int, int, str]]) -> None:
    words = tuple((start, start + 2) for start in range(0, 27, 3))
    placed = [(start, start + length, type) for start, length, type in spans]
    tags, faults = tag_spans(words, placed)
    taken: list[str] = ["O"] * len(words)
    expected = 0
    for start, end, type in sorted(placed):  # the obvious way: ask every word
        inside = [number for number, (first, after) in enumerate(words) if first < end and after > start]
        if not inside or any(taken[number] != "O" for number in inside):
            expected += 1
            continue
        expected += words[inside[0]][0] < start or words[inside[-1]][1] > end
        for number in inside:
            taken[number] = f"{'B' if number == inside[0] else 'I'}-{type}"
    assert (tags, len(faults)) == (tuple(taken), expected)


@given(st.lists(st.text(st.sampled_from("ab1中，é"), min_size=1), min_size=1))
def test_joined_words_are_found_at_their_offsets(words: list[str]) -> None:
    text, spans = join_words(words)
    assert [text[start:end] for start, end in spans] == words
    assert text.replace(" ", "") == "".join(words)


@given(st.text(st.sampled_from("aB1中北,.'-，。 \té１")))
def test_words_are_those_of_the_tokenizer(text: str) -> None:
    tokenizer = Tokenizer([*SPECIAL_PIECES, "a"], cased=True)
    encoding = tokenizer.encode(text)
    spans: dict[int, tuple[int, int]] = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word is not None:
            spans[word] = (min(start, spans.get(word, (start, 0))[0]), end)
    assert word_spans(text) == tuple(spans.values())


def test_plain_text_to_be_tagged_is_a_sentence_a_line(tmp_path: Path) -> None:
    reading = read_tagged(write(tmp_path, "a.txt", "Ann sang in Oslo\n\n雪\n"), labelled=False)
    assert [example.text for example in reading.examples] == ["Ann sang in Oslo", "", "雪"]
    assert reading.examples[0].tags is None


def test_tags_are_not_read_where_they_are_asked_for(tmp_path: Path) -> None:
    reading = read_tagged(write(tmp_path, "eng.testb", CONLL), labelled=False)
    assert [words_of(example) for example in reading.examples][2] == ["It"]
    assert all(example.tags is None for example in reading.examples)


FAULTS = {
    "no tag": ("a.txt", "Ann B-PER\nsang\n", r"a.txt line 2: 1 columns \('sang'\); wanted 2 columns"),
    "other columns": ("a.txt", "Ann NNP B-PER\nsang O\n", r"a.txt line 2: 2 columns"),
    "unknown tag": ("a.txt", "Ann B-PER\nsang VBD\n", r"a.txt line 2: tag 'VBD'; wanted O, or B-"),
    "numbers differ": ("a.jsonl", '{"tokens": ["a", "b"], "tags": ["O"]}', r"a.jsonl line 1: 2 words and 1 tags"),
    "no tags": ("a.jsonl", '{"tokens": ["a"]}', r"a.jsonl line 1: 1 words and no tags"),
    "tag of json": ("a.jsonl", '{"tokens": ["a"], "tags": [3]}', r"a.jsonl line 1: tag 3"),
    "tokens": ("a.jsonl", '{"tokens": "a b", "tags": []}', r"a.jsonl line 1, column 'tokens'; wanted a list"),
    "columns": ("a.jsonl", '{"sentence": "a"}', r"a.jsonl line 1 with columns 'sentence'; wanted 'tokens' and 'tags'"),
    "no spans": ("a.jsonl", '{"text": "a"}', r"a.jsonl line 1 without a list 'spans'"),
    "bad span": ("a.jsonl", '{"text": "a", "spans": [[0, 1]]}', r"a.jsonl line 1, spans\[0\]: \[0, 1\]"),
    "far span": (
        "a.jsonl",
        '{"text": "a", "spans": [{"start": 0, "end": 2, "type": "X"}]}',
        r"spans\[0\]: 0 to 2 in a text of 1 characters",
    ),
    "bad json": ("a.jsonl", "{", r"a.jsonl line 1: "),
    "encoding": ("a.txt", b"Ann O\n\xc3\xa9 O\n\xe9 O\n", r"a.txt line 3: byte 0xe9 is not UTF-8"),
    "nothing": ("a.txt", "\n\n", r"no examples in .*a.txt"),
}


@pytest.mark.parametrize(("name", "content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_by_its_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tagged(write(tmp_path, name, content))
