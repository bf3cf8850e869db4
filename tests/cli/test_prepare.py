"""The verb `prepare`, as the command runs it."""

import json
from pathlib import Path

import pytest
from command import run

from unmask.data.store import Store
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES, write_vocabulary

PIECES = [*SPECIAL_PIECES, "the", "rain", "fell", ".", "it", "stopped"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("The rain fell. It stopped.\n\nThe rain fell.\n")
    write_vocabulary(tmp_path / "vocab.txt", PIECES)
    return tmp_path


def test_prepare_says_what_the_store_holds(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = (work / "a.txt", "-o", work / "store", "--vocab", work / "vocab.txt")
    assert run(monkeypatch, "prepare", *flags, "--json") == 0
    fields = json.loads(capsys.readouterr().out)
    assert {name: fields[name] for name in ("documents", "sentences", "tokens", "bytes")} == {
        "documents": 2, "sentences": 3, "tokens": 11, "bytes": 43,
    }  # fmt: skip
    assert (fields["duplicate_documents"], fields["duplicate_sentences"], fields["short_documents"]) == (0, 1, 1)
    assert fields["seconds"] >= 0
    assert run(monkeypatch, "prepare", *flags) == 0
    said = capsys.readouterr()
    assert "2 documents, 3 sentences, 11 tokens" in said.out
    assert "up to date" in said.err


def test_a_model_folder_gives_its_own_tokenizer(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer(PIECES, cased=True)
    tokenizer.save(work / "model")
    assert (
        run(
            monkeypatch, "prepare", work / "a.txt", "-o", work / "store", "--vocab", work / "model", "--drop-duplicates"
        )
        == 0
    )
    store = Store.open(work / "store")
    assert store.vocabulary_hash == tokenizer.vocabulary_hash
    assert store.sentence_count == 2


def test_bad_input_is_one_line_and_status_two(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for texts, vocabulary in (("absent.txt", "vocab.txt"), ("a.txt", "absent.txt")):
        assert run(monkeypatch, "prepare", work / texts, "-o", work / "store", "--vocab", work / vocabulary) == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert len(said) == 1
        assert "absent.txt" in said[0]
    assert not (work / "store").exists()
