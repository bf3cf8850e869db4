"""The default model's vocabulary: every word can be spelled, and what text uses most is in it."""

from collections import Counter
from pathlib import Path

from scripts import load_script

from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

MINILM = Tokenizer([*SPECIAL_PIECES, "a", "b", "##a", "##b", "snow", "rain", "hail", "，", "é"])
ENGLISH = Counter({"snow": 5, "rain": 9, "hail": 1, "a": 2, "é": 3})
CHINESE = Counter({"天": 7, "地": 5, "玄": 1, "，": 8, "q": 50})


RECIPE = load_script("recipes/bilingual_pieces.py")


def chosen(size: int = 14, characters: int = 2) -> list[str]:
    pieces: list[str] = RECIPE.choose(MINILM, ENGLISH, CHINESE, size=size, characters=characters)
    return pieces


def test_special_pieces_come_first_and_nothing_comes_twice() -> None:
    pieces = chosen(15)
    assert pieces[:5] == [*SPECIAL_PIECES]
    assert len(set(pieces)) == len(pieces) == 15


def test_letters_are_kept_however_rare_so_that_no_word_is_unknown() -> None:
    assert {"a", "b", "##a", "##b"} <= {*chosen()}


def test_characters_and_words_are_those_that_are_met_most() -> None:
    pieces = chosen()
    assert {"天", "地", "rain", "，"} <= {*pieces}
    assert not {"玄", "hail", "q"} & {*pieces}  # q is met in Chinese text, which does not choose English pieces


def test_texts_are_counted_by_lines_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "snow.txt").write_text("snow snow\nrain\n天地 天\n", encoding="utf-8")
    assert RECIPE.count_pieces(MINILM, RECIPE.lines([tmp_path / "snow.txt"]))["snow"] == 2
    assert RECIPE.count_characters(RECIPE.lines([tmp_path / "snow.txt"]))["天"] == 2
