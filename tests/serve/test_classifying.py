"""Classes over HTTP: how sure they are, none where that is too little, what is neutral, the words that carried it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from unmask.apps.classify import Classify
from unmask.apps.sentiment import Sentiment
from unmask.model.named import find_model
from unmask.serve.application import open_application
from unmask.serve.models import Models
from unmask.serve.questions import Question, ToClassify
from unmask.serve.server import Settings, make_app

from .conftest import save

SENTIMENT = "default:sentiment"
TEXTS = [
    "A warm, funny film with wonderful actors.",
    "The soup was cold and awful.",
    "The meeting is on Tuesday.",
    "服务很周到，下次还来。",
]


@pytest.fixture(scope="module")
def served(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    several = save(tmp_path_factory.mktemp("several") / "several", "classes", multi_label=True)
    numbers = save(tmp_path_factory.mktemp("numbers") / "numbers", "classes")
    about = numbers / "unmask.json"
    about.write_text(about.read_text().replace('"bad"', '"-1"').replace('"fair"', '"0"').replace('"good"', '"1"'))
    named = folders | {SENTIMENT: find_model(SENTIMENT), "several": several, "numbers": numbers}
    models = Models(named)
    models.open()
    with TestClient(make_app(models, Settings(log=lambda *_, **__: None))) as client:
        yield client


def ask(client: TestClient, text: Any, model: str = SENTIMENT, **more: Any) -> Any:
    response = client.post("/v1/classify", json={"text": text, "model": model, **more})
    assert response.status_code == 200, response.text
    return response.json()


def refusal(client: TestClient, text: Any, model: str = SENTIMENT, **more: Any) -> str:
    response = client.post("/v1/classify", json={"text": text, "model": model, **more})
    assert response.status_code == 422, response.text
    words: str = response.json()["error"]["message"]
    return words


def test_sentiment_says_over_http_what_the_command_line_says(served: TestClient) -> None:
    judge, feel = Classify.open(SENTIMENT), Sentiment.open(SENTIMENT)
    found = ask(served, TEXTS)["answers"]
    assert [one["sentiment"] for one in found] == [feel(text).label for text in TEXTS]
    assert {one["sentiment"] for one in found} == {"positive", "negative", "neutral"}
    for text, one in zip(TEXTS, found, strict=True):
        expected = judge(text)
        assert (one["label"], one["abstained"]) == (expected.label, False)
        assert one["confidence"] == pytest.approx(expected.confidence, abs=1e-4)
        assert one["confidence"] == max(one["probabilities"].values())


def test_below_the_threshold_there_is_no_label(served: TestClient) -> None:
    sure = ask(served, TEXTS[0])
    assert ask(served, TEXTS[0], threshold=sure["confidence"] - 0.01)["label"] == "positive"
    unsure = ask(served, TEXTS[0], threshold=min(1.0, sure["confidence"] + 0.01))
    assert (unsure["label"], unsure["sentiment"], unsure["abstained"]) == (None, None, True)
    assert unsure["probabilities"] == pytest.approx(sure["probabilities"], abs=1e-5)


def test_requests_that_go_through_together_keep_their_own_thresholds() -> None:
    limits = [0.0, 1.0, 0.5, 1.0]
    answers = open_application(SENTIMENT)(
        [Question("classify", ToClassify(TEXTS[0], threshold=limit)) for limit in limits]
    )
    assert [answer.to_dict()["abstained"] for answer in answers] == [False, True, False, True]


@pytest.mark.parametrize("limit", [0.0, 0.99, 1.0])
def test_what_is_neutral_can_be_chosen_as_on_the_command_line(served: TestClient, limit: float) -> None:
    feel = Sentiment.open(SENTIMENT, neutral_below=limit)
    found = ask(served, TEXTS, neutral_below=limit)["answers"]
    assert [one["sentiment"] for one in found] == [feel(text).label for text in TEXTS]
    assert ("neutral" in {one["sentiment"] for one in found}) == (limit > 0)
    assert [one["label"] for one in found] == [one["label"] for one in ask(served, TEXTS)["answers"]]


def test_requests_that_go_through_together_keep_their_own_neutral() -> None:
    answers = open_application(SENTIMENT)(
        [Question("classify", ToClassify(TEXTS[2], neutral_below=limit)) for limit in (0.0, 1.0, None)]
    )
    assert [answer.to_dict()["sentiment"] == "neutral" for answer in answers] == [False, True, True]


@pytest.mark.parametrize("model", ["reviews", "numbers", "quick", "stars", "several"])
@pytest.mark.parametrize("limit", [0.0, 0.8])
def test_only_sides_of_a_feeling_can_be_neutral(served: TestClient, model: str, limit: float) -> None:
    assert "labels are no sides of a feeling" in refusal(served, "the fox", model, neutral_below=limit)
    answers = ask(served, ["the fox"], model, neutral_below=limit)["answers"]
    assert "wanted labels such as positive and negative" in answers[0]["error"]


def test_the_words_that_carried_it_come_on_request(served: TestClient) -> None:
    found = ask(served, TEXTS[0], words=True)
    expected = Sentiment.open(SENTIMENT)(TEXTS[0], words=True).to_dict()["words"]
    assert [word["text"] for word in found["words"]] == [word["text"] for word in expected]
    assert [word["score"] for word in found["words"]] == pytest.approx([word["score"] for word in expected], abs=1e-3)
    assert all(TEXTS[0][word["start"] : word["end"]] == word["text"] for word in found["words"])
    assert "words" not in ask(served, TEXTS[0])


def test_a_text_without_words_spares_the_others(served: TestClient) -> None:
    answers = ask(served, ["a\0b", TEXTS[0]], words=True)["answers"]
    assert "NUL" in answers[0]["error"]
    assert len(answers[1]["words"]) == 5


@pytest.mark.parametrize("model", ["reviews", "numbers", "quick"])
def test_labels_of_anything_else_are_no_sentiment(served: TestClient, model: str) -> None:
    found = ask(served, "the quick fox", model)
    assert "sentiment" not in found
    assert found["confidence"] == found["probabilities"][found["label"]]


def test_words_need_a_model_in_torch(served: TestClient) -> None:
    assert "serving folder, which cannot explain" in refusal(served, "the fox", "quick", words=True)
    answers = ask(served, ["the fox"], "quick", words=True)["answers"]
    assert "cannot explain" in answers[0]["error"]


@pytest.mark.parametrize("model", ["stars", "several"])
def test_values_and_several_labels_have_no_threshold(served: TestClient, model: str) -> None:
    assert ask(served, "the fox", model).keys() & {"value", "labels"}
    for more in ({"threshold": 0.5}, {"words": True}):
        assert "a model that gives each text one class" in refusal(served, "the fox", model, **more)


def test_what_is_no_confidence_or_too_long_to_explain_is_refused(served: TestClient) -> None:
    assert "threshold" in refusal(served, "a", threshold=1.5)
    assert "threshold" in refusal(served, "a", threshold="very")
    assert "neutral_below" in refusal(served, "a", neutral_below=-0.1)
    body = b'{"text": "a", "threshold": NaN}'
    assert served.post("/v1/classify", content=body, headers={"Content-Type": "application/json"}).status_code == 422
    assert "at most 2,000 with words" in refusal(served, ["a", "a " * 1001], words=True)
