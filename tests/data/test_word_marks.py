from pathlib import Path

import numpy as np
import pytest

from unmask.data import word_marks
from unmask.data.prepare import prepare
from unmask.data.store import Store
from unmask.data.word_marks import mark_words, open_words
from unmask.errors import InputError
from unmask.text.segment import word_starts
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

PIECES = [*SPECIAL_PIECES, "我", "们", "爱", "语", "言", "bert", "##s", "。", "."]


def pairs_of_characters(text: str) -> list[str]:
    """Every two Chinese characters are a word."""
    words: list[str] = []
    for run in text.replace(" ", "| |").split("|"):
        words += [run[i : i + 2] for i in range(0, len(run), 2)]
    return [word for word in words if word]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "text.txt").write_text("我们爱语言。\nberts 爱我们.\n\n我\n们爱\n" * 5, encoding="utf-8")
    prepare([tmp_path / "text.txt"], tmp_path / "store", Tokenizer(PIECES))
    return Store.open(tmp_path / "store")


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_every_sentence_is_segmented_on_its_own(store: Store, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_marks, "BLOCK_TOKENS", block)
    mark_words(store, store.folder / "words-jieba.bits", pairs_of_characters)
    words = open_words(store, "jieba")
    for start, stop in zip(store.sentence_tokens[:-1], store.sentence_tokens[1:], strict=True):
        expected = word_starts(np.asarray(store.tokens(start, stop)), PIECES, pairs_of_characters)
        np.testing.assert_array_equal(words(int(start), int(stop)), expected)


def test_any_range_can_be_asked_for(store: Store) -> None:
    mark_words(store, store.folder / "words-jieba.bits", pairs_of_characters)
    words = open_words(store, "jieba")
    whole = words(0, store.token_count)
    for start in range(store.token_count):
        np.testing.assert_array_equal(words(start, store.token_count), whole[start:])


def test_marks_of_another_store_are_refused(store: Store) -> None:
    (store.folder / "words-jieba.bits").write_bytes(b"x")
    with pytest.raises(InputError, match="another length"):
        open_words(store, "jieba")
