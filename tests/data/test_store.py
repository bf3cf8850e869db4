"""The token store: what is in it, how it is opened, and what is said of a damaged one."""

from pathlib import Path

import numpy as np
import pytest
from stories import TOKENIZER, contents, ids_of, offsets, sentences_of, write_stories

from unmask.data.prepare import prepare
from unmask.data.store import Store, id_type
from unmask.errors import InputError
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES


@pytest.fixture
def store(tmp_path: Path) -> Store:
    prepare(write_stories(tmp_path / "texts"), tmp_path / "store", TOKENIZER, shard_bytes=500, threads=1)
    return Store.open(tmp_path / "store")


def test_a_store_holds_the_ids_of_every_sentence_in_order(store: Store, tmp_path: Path) -> None:
    expected = sentences_of([tmp_path / "texts"])
    assert len(store.shards) > 5
    assert contents(store) == expected
    assert store.document_count == len(expected)
    assert store.document_sentences.tolist() == offsets([len(document) for document in expected])
    assert store.sentence_tokens.tolist() == offsets([len(s) for document in expected for s in document])
    assert store.sentence_count == store.document_sentences[-1]
    assert store.token_count == store.sentence_tokens[-1]


def test_any_range_of_tokens_is_that_of_all_ids_end_to_end(store: Store) -> None:
    everything = ids_of(store)
    chance = np.random.default_rng(0)
    borders = [*store.shard_tokens, *chance.integers(0, len(everything) + 1, 60)]
    for start in borders:
        for stop in (border for border in borders if border >= start):
            assert np.array_equal(store.tokens(start, stop), everything[start:stop])


def test_a_store_describes_itself(store: Store) -> None:
    assert store.vocabulary_hash == store.tokenizer().vocabulary_hash == TOKENIZER.vocabulary_hash
    assert [text["name"] for text in store.description["texts"]] == ["a.txt", "b.jsonl"]
    store.verify()


def test_ids_take_four_bytes_only_where_two_are_too_few(tmp_path: Path) -> None:
    pieces = [*SPECIAL_PIECES, *(f"w{number}" for number in range((1 << 16) - 4))]
    (tmp_path / "a.txt").write_text("w0 w65531 w65529. Done")
    prepare([tmp_path / "a.txt"], tmp_path / "wide", Tokenizer(pieces))
    prepare([tmp_path / "a.txt"], tmp_path / "narrow", Tokenizer(pieces[:-1]))
    wide, narrow = Store.open(tmp_path / "wide"), Store.open(tmp_path / "narrow")
    assert (ids_of(wide).dtype, ids_of(wide).tolist()[:3]) == (np.uint32, [5, 65536, 65534])
    assert (ids_of(narrow).dtype, ids_of(narrow).tolist()[:3]) == (np.uint16, [5, 1, 65534])
    assert id_type(1 << 16) == np.uint16


def test_a_changed_byte_is_found_and_named(store: Store) -> None:
    for name in ("shard-00001.ids", "sentences.i64", "documents.i64"):
        path = store.folder / name
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(InputError, match=name):
            Store.open(store.folder).verify()
        path.write_bytes(content)


def test_a_file_cut_short_is_found_when_the_store_is_opened(store: Store) -> None:
    path = store.folder / "shard-00002.ids"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(InputError, match=r"shard-00002\.ids, which is damaged"):
        Store.open(store.folder)


@pytest.mark.parametrize("content", [None, "{", "[]", '{"format": "unmask store", "version": 99}'])
def test_what_is_no_store_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "store.json").write_text(content)
    with pytest.raises(InputError, match=str(tmp_path)):
        Store.open(tmp_path)
