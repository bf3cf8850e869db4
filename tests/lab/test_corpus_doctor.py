"""The doctor of corpora: a made text for each thing that goes wrong, and a healthy one in which nothing is found."""

import gzip
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.prepare import prepare
from unmask.data.store import Store
from unmask.lab import text_figures
from unmask.lab.corpus_doctor import StoreFigures, diagnose_store, diagnose_text, measure_store, text_fields
from unmask.lab.text_figures import KINDS, TextFigures, count_kinds, measure_text, quantile
from unmask.text.documents import read_documents
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

HEALTHY = TextFigures(
    files=2,
    documents=900,
    short_documents=30,
    sentences=12_000,
    characters=1_900_000,
    bytes=2_000_000,
    compared=12_000,
    duplicates=300,
    lines=11_000,
    markup_lines=20,
    breaks=10_100,
    broken=40,
    kinds=Counter({"Latin": 1_500_000, "Han": 20, "control": 2}),
    sentence_lengths=Counter({120: 11_990, 1500: 10}),
    document_lengths=Counter({1: 30, 13: 870}),
)
SICK = {
    "unreadable file": {"unreadable": {"b.txt": "b.txt: byte 7 (0xe9) is not UTF-8"}},
    "odd characters": {"kinds": Counter({"Latin": 1_500_000, "replacement": 50})},
    "wrong encoding": {"misread": {"a.txt": 900, "b.txt": 20}},
    "markup": {"markup_lines": 3000},
    "wrapped lines": {"broken": 5000},
    "few documents": {"documents": 40, "short_documents": 2},
    "one-sentence documents": {"short_documents": 700},
    "little text": {"bytes": 20_000},
    "duplicates": {"duplicates": 4000},
    "long sentences": {"sentence_lengths": Counter({120: 9000, 5000: 3000})},
}


def names(figures: TextFigures) -> list[str]:
    return [finding.name for finding in diagnose_text(figures)]


def test_nothing_is_found_in_a_healthy_text() -> None:
    assert names(HEALTHY) == []


@pytest.mark.parametrize("name", SICK)
def test_each_illness_of_a_text_is_found_and_no_other(name: str) -> None:
    findings = list(diagnose_text(replace(HEALTHY, **SICK[name])))  # type: ignore[arg-type]
    assert [finding.name for finding in findings] == [name]
    assert findings[0].seen
    assert findings[0].do


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_kinds_of_characters_are_counted_as_one_by_one(text: str) -> None:
    expected = Counter(
        kind
        for character in text
        for kind, ranges in KINDS.items()
        if any(first <= ord(character) <= last for first, last in ranges)
    )
    assert count_kinds(text) == expected


@given(st.lists(st.integers(0, 50), min_size=1), st.sampled_from([0.05, 0.5, 0.95, 1.0]))
def test_quantiles_are_those_of_the_sorted_list(values: list[int], share: float) -> None:
    expected = np.quantile(values, share, method="inverted_cdf")
    assert quantile(Counter(values), share) == expected


def write_corpus(folder: Path) -> Path:
    rows = [f"Story {n} is short. It has two sentences.\nThe end." for n in range(30)]
    (folder / "plain.txt").write_text("\n\n".join([*rows, "雪下了。天晴了。"]), encoding="utf-8")
    (folder / "rows.jsonl").write_text('{"text": "A caf\\u00c3\\u00a9. A <b>bold</b> word\\u0007."}\n')
    (folder / "packed.txt.gz").write_bytes(gzip.compress(b"Packed text. The end.\n"))
    (folder / "latin1.txt").write_bytes("Whole.\n\nA café.\n".encode("latin-1"))
    return folder


def test_files_are_counted_as_they_are_read_for_training(tmp_path: Path) -> None:
    figures = measure_text([write_corpus(tmp_path)])
    readable = [tmp_path / name for name in ("plain.txt", "rows.jsonl", "packed.txt.gz")]
    documents = list(read_documents(readable))
    sentences = [sentence for document in documents for sentence in document.sentences]
    assert figures.files == 4
    assert figures.documents >= len(documents)
    assert figures.sentences - len(sentences) == figures.documents - len(documents)
    assert figures.duplicates == len(sentences) - len(set(sentences))
    assert figures.sentence_lengths[len("雪下了。")] >= 2


def test_what_is_odd_is_told_by_file(tmp_path: Path) -> None:
    figures = measure_text([write_corpus(tmp_path)])
    assert list(figures.unreadable) == ["latin1.txt"]
    assert "not UTF-8" in figures.unreadable["latin1.txt"]
    assert figures.misread == {"rows.jsonl": 1}
    assert figures.kinds["control"] == 1
    assert figures.markup_lines == 1
    assert set(figures.scripts) == {"Latin", "Han"}
    assert sum(figures.scripts.values()) == pytest.approx(1)
    fields = json.loads(json.dumps(text_fields(figures)))
    assert fields["suggested_vocabulary_size"] == 4000
    assert fields["document_sentences"]["p50"] == 3


def test_lines_that_break_sentences_are_counted_unless_they_are_joined(tmp_path: Path) -> None:
    generator = random.Random(4)
    words = [generator.choice(["river", "stone", "bridge", "lantern", "harbour"]) for _ in range(400)]
    ragged = "\n".join(" ".join(words[n : n + generator.randint(2, 9)]) for n in range(0, 400, 8))
    (tmp_path / "ragged.txt").write_text(ragged)
    wrapped = "The old man went down to the shore, where\nhe looked at boats that lay like fish\nasleep."
    (tmp_path / "wrapped.txt").write_text(wrapped)
    figures = measure_text([tmp_path])
    assert figures.wrapped_documents == 1
    assert (figures.broken, figures.breaks) == (49, 49)
    assert "wrapped lines" in names(figures)


def test_beyond_the_limit_sentences_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_figures, "MOST_HASHES", 5)
    (tmp_path / "same.txt").write_text("One. Two.\n\n" * 9)
    figures = measure_text([tmp_path])
    assert (figures.sentences, figures.compared, figures.duplicates) == (18, 4, 2)


STORE = StoreFigures(5000, 40, 60_000, 1_500_000, 900, 0.0002, 1.3, 6.5)


def test_nothing_is_found_in_a_healthy_store() -> None:
    assert list(diagnose_store(STORE)) == []


def test_a_store_is_counted_as_its_text_is_encoded(tmp_path: Path) -> None:
    text = "A dog ran.\nA dog sat.\n\nA xylophone ran.\nA dog ran.\n\nRan.\n"
    (tmp_path / "pets.txt").write_text(text)
    tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "do", "##g", "ran", "sat", "."])
    prepare([tmp_path / "pets.txt"], tmp_path / "store", tokenizer)
    figures = measure_store(Store.open(tmp_path / "store"))
    pieces = [piece for line in text.splitlines() for piece in tokenizer.encode(line).pieces[1:-1]]
    words = [piece for piece in pieces if not piece.startswith("##")]
    counts = Counter(pieces)
    shares = np.array(list(counts.values())) / len(pieces)
    assert (figures.documents, figures.short_documents, figures.sentences) == (3, 1, 5)
    assert figures.tokens == len(pieces)
    assert figures.duplicate_sentences == 1
    assert figures.unknown_rate == counts["[UNK]"] / len(words)
    assert figures.pieces_per_word == len(pieces) / len(words)
    assert figures.unigram_loss == pytest.approx(-(shares * np.log(shares)).sum())
    found = [finding.name for finding in diagnose_store(figures)]
    assert found == ["few documents", "duplicates", "wrong vocabulary"]


def test_duplicates_that_were_dropped_are_none(tmp_path: Path) -> None:
    (tmp_path / "pets.txt").write_text("A dog.\nA dog.\n\nA dog.\nA cat.\n")
    tokenizer = Tokenizer([*SPECIAL_PIECES, "a", "dog", "cat", "."])
    prepare([tmp_path / "pets.txt"], tmp_path / "store", tokenizer, drop_duplicates=True)
    assert measure_store(Store.open(tmp_path / "store")).duplicate_sentences == 0
