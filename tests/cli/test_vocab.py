"""The verbs `vocab learn` and `vocab check`, as the command runs them."""

import gzip
from pathlib import Path

import pytest
from command import Command

from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES, read_vocabulary, write_vocabulary

FIRST = "The miller grinds the corn, and the baker bakes the bread.\n\nNobody bakes like the baker's son.\n"
SECOND = "磨坊主磨麦子，面包师烤面包。\nGrinding and baking take all day in Łódź.\n"


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt.gz"
    first.write_text(FIRST, encoding="utf-8")
    second.write_bytes(gzip.compress(SECOND.encode("utf-8")))
    return [first, second]


def test_learn_writes_the_vocabulary_and_says_how_it_fits(unmask: Command, texts: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "new" / "vocab.txt"
    fields = unmask.json("vocab", "learn", *texts, "-o", output, "--size", 65)
    assert read_vocabulary(output) == learn_vocabulary([FIRST, SECOND], size=65)
    assert set(fields) == {"size", "seconds", "unknown_rate", "pieces_per_word"}
    assert (fields["size"], fields["unknown_rate"]) == (65, 0)
    pieces = Tokenizer(read_vocabulary(output)).encode(FIRST + SECOND)
    words = 1 + max(word for word in pieces.word_ids if word is not None)
    assert fields["pieces_per_word"] == pytest.approx((len(pieces.ids) - 2) / words)


def test_the_order_of_files_does_not_change_a_byte(unmask: Command, texts: list[Path], tmp_path: Path) -> None:
    for name, order in (("one", texts), ("two", texts[::-1]), ("three", [tmp_path])):
        unmask.json("vocab", "learn", *order, "-o", tmp_path / "out" / name, "--size", 65, "--threads", 1)
    assert len({path.read_bytes() for path in (tmp_path / "out").iterdir()}) == 1


def test_learn_takes_casing_slots_and_chinese_words(unmask: Command, texts: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "vocab.txt"
    flags = ("--cased", "--unused", 3, "--chinese-words", "--minimum-count", 1)
    unmask.json("vocab", "learn", *texts, "-o", output, "--size", 200, *flags)
    pieces = read_vocabulary(output)
    assert pieces[:5] == ["[PAD]", "[unused0]", "[unused1]", "[unused2]", "[UNK]"]
    assert {"The", "Łódź", "磨坊主磨麦子"} <= set(pieces)


def test_a_text_with_few_pieces_is_noted(unmask: Command, texts: list[Path], tmp_path: Path) -> None:
    status, out, err = unmask("vocab", "learn", *texts, "-o", tmp_path / "vocab.txt", "--size", 5000)
    size = len(read_vocabulary(tmp_path / "vocab.txt"))
    assert status == 0
    assert f"only {size} pieces that occur often enough, of 5,000" in err
    assert f"{size} pieces; " in out


def test_check_suggests_words_and_missing_characters(unmask: Command, texts: list[Path], tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocab.txt"
    letters = "abcdefghijklmnopqrstuvwxyz"
    write_vocabulary(vocabulary, [*SPECIAL_PIECES, *letters, *("##" + letter for letter in letters), ",", ".", "the"])
    fields = unmask.json("vocab", "check", vocabulary, texts[0])
    assert fields["additions"][0] == {"word": "baker", "count": 2, "pieces": 5, "saves": 8}
    assert fields["missing_characters"] == [{"piece": "'", "count": 1}]
    assert fields["unknown_rate"] == pytest.approx(1 / 22)
    assert "add baker: 2 times in 5 pieces, saves 8" in unmask("vocab", "check", vocabulary, texts[0])[1]


def test_check_respects_a_folders_casing_and_sees_a_files(unmask: Command, texts: list[Path], tmp_path: Path) -> None:
    pieces = learn_vocabulary([FIRST], size=200, cased=True)
    Tokenizer(pieces, cased=True).save(tmp_path / "model")
    by_folder = unmask.json("vocab", "check", tmp_path / "model", texts[0])
    by_file = unmask.json("vocab", "check", tmp_path / "model" / "vocab.txt", texts[0])
    assert by_folder["unknown_rate"] == 0
    assert {**by_folder, "seconds": 0} == {**by_file, "seconds": 0}
    lowered = unmask.json("vocab", "check", tmp_path / "model" / "vocab.txt", texts[0], "--uncased")
    assert lowered["pieces_per_word"] != by_file["pieces_per_word"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("learn", "{text}", "-o", "{folder}", "--size", 50), "a folder; wanted a file; try -o"),
        (("learn", "{text}", "-o", "{text}/vocab.txt", "--size", 50), "wanted a place where a file can be written"),
        (("learn", "{text}", "-o", "{folder}/v", "--size", 50, "--unused", 60), "more than the 65 special ones"),
        (("learn", "{folder}/none.txt", "-o", "{folder}/v", "--size", 50), "none.txt"),
        (("learn", "{folder}/empty.txt", "-o", "{folder}/v", "--size", 50), "no text"),
        (("learn", "{folder}/latin.txt", "-o", "{folder}/v", "--size", 50), "latin.txt"),
        (("check", "{text}", "{text}"), "without [PAD], [UNK], [CLS], [SEP], [MASK]"),
        (("check", "{folder}", "{text}"), "without a tokenizer"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    unmask: Command, texts: list[Path], tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    before = sorted(tmp_path.iterdir())
    filled = [str(argument).format(text=texts[0], folder=tmp_path) for argument in arguments]
    status, out, err = unmask("vocab", *filled, "--quiet")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
