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
        ("Once [MASK] a time there was a king.", "upon"),
        ("人之初，性本[MASK]。", "善"),
    ],
)
def test_it_finds_the_word_that_fits(fill: Filler, text: str, word: str) -> None:
    assert fill(text).masks[0].candidates[0].token == word


def test_its_card_says_how_good_it_is_in_both_languages() -> None:
    scores = unmask.open_model("default").about.scores
    for language in ("english", "chinese"):
        assert scores[language]["mlm_loss"] < scores[language]["unigram_loss"] - 1
    assert 0 < scores["minimal pairs"]["all"] < 1


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("A lovely film with wonderful actors.", "positive"),
        ("This was a waste of time and money.", "negative"),
        ("房间很干净，服务也很好。", "positive"),
        ("太差了，再也不会来了。", "negative"),
    ],
)
def test_its_sentiment_knows_praise_from_blame_in_both_languages(text: str, label: str) -> None:
    assert unmask.load("default:sentiment")(text).label == label


@pytest.mark.parametrize(
    ("text", "people", "places"),
    [("Marie Curie was born in Poland.", ["Marie Curie"], ["Poland"]), ("李明住在北京。", ["李明"], ["北京"])],
)
def test_its_entities_are_people_and_places_in_both_languages(text: str, people: list[str], places: list[str]) -> None:
    found = unmask.load("default:entities")(text).to_dict()["entities"]
    assert [one["text"] for one in found if one["type"] == "PER"] == people
    assert [one["text"] for one in found if one["type"] == "LOC"] == places


ENGLISH = "The library was founded in 1874 by Anna Holm, a teacher from Bergen. It holds two million books."
CHINESE = "图书馆由教师王梅于一八七四年创办，位于南京，藏书两百万册，每周一闭馆。"


@pytest.mark.parametrize(
    ("question", "context", "said"),
    [
        ("By whom was the library founded?", ENGLISH, "Anna Holm"),
        ("How many books does it hold?", ENGLISH, "two million"),
        ("图书馆位于哪里？", CHINESE, "南京"),
        ("图书馆由谁创办？", CHINESE, "王梅"),
    ],
)
def test_its_answers_hold_what_was_asked_for_in_both_languages(question: str, context: str, said: str) -> None:
    found = unmask.load("default:answers")(question, context).to_dict()
    assert said in found["answer"]
    assert context[found["start"] : found["end"]] == found["answer"]
