"""Words among pieces: the vectorised borders against a loop, and jieba kept quiet."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import InputError
from unmask.text.segment import segmenter, word_starts
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PIECES = [*SPECIAL_PIECES, *"我们喜欢自然语言处理的研究a。", "un", "##able", "##的"]


def pairs(text: str) -> list[str]:
    """A segmenter for tests: words of two characters, blanks alone."""
    words: list[str] = []
    for character in text:
        if words and len(words[-1]) == 1 and " " not in words[-1] + character:
            words[-1] += character
        else:
            words.append(character)
    return words


@given(st.lists(st.integers(0, len(PIECES) - 1)))
def test_borders_are_those_of_a_loop_over_runs_of_chinese_characters(ids: list[int]) -> None:
    expected, run = [], 0
    for id in ids:
        chinese = len(PIECES[id]) == 1 and PIECES[id] not in "a。"
        expected.append(run % 2 == 0 if chinese else not PIECES[id].startswith("##"))
        run = run + 1 if chinese else 0
    assert word_starts(np.array(ids, dtype=np.int64), PIECES, pairs).tolist() == expected


def test_jieba_finds_the_words_of_a_sentence() -> None:
    tokenizer = Tokenizer(PIECES)
    ids = np.array(tokenizer.ids_batch(["我们喜欢自然语言。Unable的研究"])[0], dtype=np.uint16)
    starts = word_starts(ids, tokenizer.pieces, segmenter("jieba"))
    words = "".join(
        f" {piece}" if start else piece for piece, start in zip(map(PIECES.__getitem__, ids), starts, strict=True)
    )
    assert words.split() == ["我们", "喜欢", "自然语言", "。", "un##able", "的", "研究"]


def test_no_pieces_have_no_words() -> None:
    assert word_starts(np.array([], dtype=np.uint16), PIECES, segmenter("jieba")).tolist() == []


def test_jieba_is_silent_and_leaves_no_file(tmp_path: Path) -> None:
    program = "from unmask.text.segment import segmenter; print(len(segmenter('jieba')('我们喜欢')))"
    environment = {"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=environment
    )
    assert (ran.stdout, ran.stderr) == ("2\n", "")
    assert not list(tmp_path.iterdir())


def test_a_missing_segmenter_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from unmask.text import segment

    monkeypatch.setitem(sys.modules, "jieba", None)
    segment._jieba.cache_clear()
    with pytest.raises(InputError, match=r"unmask\[zh\]"):
        segmenter("jieba")


def test_an_unknown_segmenter_is_refused() -> None:
    with pytest.raises(InputError, match="wanted jieba"):
        segmenter("abacus")
