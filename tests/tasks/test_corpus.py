from pathlib import Path

import numpy as np
import pytest

from unmask.errors import InputError
from unmask.tasks.corpus import find_tokenizer, hold_out, open_corpus, vocabulary_size_for
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES, write_vocabulary


def test_documents_are_divided_without_rest_and_always_the_same_way() -> None:
    training, held_out = hold_out(5000, 0.1)
    np.testing.assert_array_equal(np.sort(np.concatenate([training, held_out])), np.arange(5000))
    assert len(held_out) == pytest.approx(500, abs=100)
    np.testing.assert_array_equal(hold_out(5000, 0.1)[1], held_out)


def test_too_few_documents_to_measure_on_are_all_learned_from() -> None:
    training, held_out = hold_out(10, 0.1)
    assert (len(training), len(held_out)) == (10, 0)


def test_a_store_is_taken_as_it_is(text_file: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    prepared = open_corpus([text_file], tmp_path / "store", lambda _: tokenizer)
    opened = open_corpus([tmp_path / "store"], tmp_path / "unused", lambda _: tokenizer)
    assert opened.store.token_count == prepared.store.token_count
    assert not (tmp_path / "unused").exists()


def test_a_vocabulary_with_capitals_is_cased(tmp_path: Path) -> None:
    write_vocabulary(tmp_path / "vocab.txt", [*SPECIAL_PIECES, "The", "the"])
    found = find_tokenizer([], vocabulary=tmp_path / "vocab.txt", size=None, cased=False, learned=tmp_path / "none")
    assert found.cased


def test_a_learned_vocabulary_reads_the_column_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("review,other\nthe owl sleeps,x\nthe owl wakes,y\n", encoding="utf-8")
    found = find_tokenizer(
        [tmp_path / "table.csv"], vocabulary=None, size=40, cased=False, learned=tmp_path / "v.txt", column="review"
    )
    assert "owl" in found.pieces


def test_a_vocabulary_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vocabulary .*none.txt"):
        find_tokenizer([], vocabulary=tmp_path / "none.txt", size=None, cased=False, learned=tmp_path / "v.txt")


def test_more_text_can_teach_more_pieces() -> None:
    sizes = [vocabulary_size_for(10**power) for power in range(4, 11)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (4000, 30_522)
