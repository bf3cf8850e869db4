"""The vocabulary learner: deterministic, right by a slow second opinion, and true to Chinese."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import InputError
from unmask.text.coverage import measure_coverage
from unmask.text.documents import read_texts
from unmask.text.learning import join_pieces, learn_pieces, learn_vocabulary, special_pieces
from unmask.text.tokenizer import CHINESE, Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES, check_vocabulary

SOME_TEXT = (
    "The keeper of the lighthouse kept the light; keeping it lit was lightly said and slowly done.\n"
    "She sells seashells, he shells peas, and the sailors' sails are sailing past the lighthouse at night.\n"
    "Café, naïve, Ελληνικά, 灯塔的看守人守着灯。他们慢慢地走。ラーメン 2026-11-15 £5\n"
)
words_of_few_letters = st.dictionaries(st.text("abé中", min_size=1, max_size=9), st.integers(1, 20), min_size=1)


def slowly_joined(words: Mapping[str, int], most: int, minimum_count: int) -> list[str]:
    """Counts all pairs of all words again before every join."""
    cut = {word: [word[0], *("##" + character for character in word[1:])] for word in words}
    joined: list[str] = []
    while len(joined) < most:
        counts: Counter[tuple[str, str]] = Counter()
        for word, pieces in cut.items():
            for i in range(len(pieces) - 1):
                counts[pieces[i], pieces[i + 1]] += words[word]
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < minimum_count:
            break
        new = best[0] + best[1][2:]
        for pieces in cut.values():
            i = 0
            while i < len(pieces) - 1:
                if (pieces[i], pieces[i + 1]) == best:
                    pieces[i : i + 2] = [new]
                i += 1
        joined += [new] if new not in joined else []
    return joined


@given(words_of_few_letters, st.integers(1, 40), st.integers(1, 4))
def test_joining_agrees_with_counting_everything_anew(words: dict[str, int], most: int, minimum: int) -> None:
    assert join_pieces(words, most=most, minimum_count=minimum) == slowly_joined(words, most, minimum)


@given(words_of_few_letters, st.integers(6, 60), st.randoms())
def test_the_order_of_words_changes_nothing(words: dict[str, int], size: int, random: Random) -> None:
    shuffled = list(words.items())
    random.shuffle(shuffled)
    assert learn_pieces(dict(shuffled), size=size) == learn_pieces(words, size=size)


@given(st.permutations(SOME_TEXT.splitlines(keepends=True)), st.integers(1, 40))
@settings(max_examples=20)
def test_the_order_of_texts_and_the_borders_of_blocks_change_nothing(lines: list[str], length: int) -> None:
    joined = [" ".join(lines[:2]), *lines[2:]]
    words = " ".join(lines).split(" ")
    blocks = [" ".join(words[i : i + length]) + " " for i in range(0, len(words), length)]
    expected = learn_vocabulary([SOME_TEXT], size=150)
    assert learn_vocabulary(joined, size=150) == learn_vocabulary(blocks, size=150) == expected


def test_the_hash_seed_changes_nothing() -> None:
    code = f"from unmask.text.learning import learn_vocabulary; print(learn_vocabulary([{SOME_TEXT!r}], size=150))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
            cwd=Path(__file__).resolve().parents[2],
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert printed == {f"{learn_vocabulary([SOME_TEXT], size=150)}\n".encode()}


@given(st.text(), st.integers(6, 60), st.booleans())
def test_what_is_learned_is_a_vocabulary_of_at_most_the_size(text: str, size: int, cased: bool) -> None:
    pieces = learn_vocabulary(["some words", text], size=size, cased=cased)
    check_vocabulary(pieces, "learned")
    assert len(pieces) <= size


@given(st.text(st.characters(exclude_categories=["Cs", "Co"]), max_size=80), st.booleans())
def test_the_text_itself_has_no_unknown_words_when_its_characters_fit(text: str, cased: bool) -> None:
    tokenizer = Tokenizer(learn_vocabulary(["some words", text], size=250, cased=cased), cased=cased)
    assert "[UNK]" not in tokenizer.encode(text.replace("[UNK]", "")).pieces


@given(st.text(st.sampled_from("灯塔的看守人𠀀豈守着ab,. "), max_size=200))
def test_chinese_characters_stay_single(text: str) -> None:
    pieces = learn_vocabulary(["some words", text], size=200, minimum_count=1)
    chinese = [piece for piece in pieces if any(character in "灯塔的看守人𠀀豈守着" for character in piece)]
    assert all(len(piece) == 1 for piece in chinese)
    assert set(text) & set("灯塔的看守人𠀀着") <= set(chinese)


def test_chinese_words_are_learned_when_asked_for() -> None:
    pieces = learn_vocabulary(["灯塔 灯塔 看守人 看守人"], size=30, chinese_words=True)
    assert {"灯塔", "看守人"} <= set(pieces)


def test_special_pieces_come_first_and_99_unused_slots_give_the_published_ids() -> None:
    assert tuple(learn_vocabulary([SOME_TEXT], size=60)[:5]) == SPECIAL_PIECES
    special = special_pieces(99)
    published = {"[PAD]": 0, "[unused0]": 1, "[unused98]": 99, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103}
    assert {piece: special.index(piece) for piece in published} == published


def test_a_text_with_few_pieces_gives_a_smaller_vocabulary() -> None:
    assert learn_vocabulary(["aha aha"], size=1000) == [*SPECIAL_PIECES, "a", "h", "##a", "##h", "aha", "##ha"]


def test_the_rarest_characters_are_left_out_where_there_is_no_room() -> None:
    text = "e " * 9 + "t " * 5 + "q"
    assert learn_vocabulary([text], size=7) == [*SPECIAL_PIECES, "e", "t"]


def test_pieces_that_encoding_never_uses_give_way() -> None:
    """Joining passes through `##igh` and `ligh` on its way to `light`, which never stand alone."""
    words = {"light": 50, "night": 40, "fight": 30, "might": 20}
    pieces = learn_pieces(words, size=5 + 12 + 4)
    assert set(pieces[-4:]) == set(words)


def test_dropping_what_is_not_used_makes_encoded_text_shorter() -> None:
    words = Counter(word for word in SOME_TEXT.lower().split() if word.isascii() and word.isalpha())
    size = 90
    pieces = learn_pieces(words, size=size, minimum_count=1)
    characters = [piece for piece in pieces if len(piece.removeprefix("##")) == 1]
    joined_only = characters + join_pieces(words, most=len(pieces) - 5 - len(characters), minimum_count=1)
    assert measure_coverage(pieces, words).pieces < measure_coverage(joined_only, words).pieces


@pytest.mark.parametrize("texts", [[], ["", " \n"], ["\x00"]])
def test_no_words_is_the_users_error(texts: list[str]) -> None:
    with pytest.raises(InputError, match="text without words"):
        learn_vocabulary(texts, size=100)


def test_no_room_beside_the_special_pieces_is_the_users_error() -> None:
    with pytest.raises(InputError, match="wanted more than the 15 special ones"):
        learn_vocabulary([SOME_TEXT], size=15, unused=10)


def test_words_longer_than_the_tokenizer_takes_teach_nothing() -> None:
    assert "z" not in learn_vocabulary(["short words", "z" * 101], size=100)


@pytest.mark.shared
def test_chinese_text_is_learned_without_multi_character_pieces(shared_data: Path) -> None:
    block = next(read_texts([shared_data / "pretrain_zh" / "wiki_zh.txt.gz"]))
    pieces = learn_vocabulary([block], size=6000)
    assert len(pieces) == 6000
    assert not [piece for piece in pieces if len(piece) > 1 and re.search(f"[{CHINESE}]", piece)]
