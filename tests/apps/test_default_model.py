"""The embedded default model: small, whole, and it answers."""

from pathlib import Path

import pytest

import unmask
from unmask.apps.fill import Filler
from unmask.model.named import EMBEDDED, find_model


@pytest.fixture(scope="module")
def fill() -> Filler:
    app = unmask.load("default")
    assert isinstance(app, Filler)
    return app


def test_embedded_files_stay_small() -> None:
    def megabytes(folder: Path) -> float:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6

    assert megabytes(find_model("default")) < 20
    assert megabytes(EMBEDDED) < 40


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("I do not [MASK] what you mean.", "know"),
        ("She opened the [MASK] and went in.", "door"),
        ("He was born in [MASK] York.", "new"),
    ],
)
def test_it_finds_words_that_fit(fill: Filler, text: str, word: str) -> None:
    candidates = [candidate.token for candidate in fill(text).masks[0].candidates]
    assert word in candidates


def test_its_card_says_how_good_it_is_in_both_languages() -> None:
    scores = unmask.open_model("default").about.scores
    for language in ("english", "chinese"):
        assert scores[language]["mlm_loss"] < scores[language]["unigram_loss"] - 1
    assert 0 < scores["minimal pairs"]["all"] < 1
