"""An explanation takes long, and nobody else waits for it: the same model answers others meanwhile, and rightly."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import unmask
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.named import find_model
from unmask.serve.application import twin_of
from unmask.serve.models import Models

from .browser import listening

LONG = "The story is thin and slow, but the actors are wonderful and the songs are warm."
TEXTS = ["A warm, funny film.", "The soup was cold and awful.", "等了一个小时，菜还是凉的。"]


@pytest.fixture(scope="module")
def client() -> Iterator[unmask.Client]:
    with listening(Models({"feeling": find_model("default:sentiment")}), timeout=300) as address:
        yield unmask.Client(address, timeout=300)


def meanwhile(client: unmask.Client, lengthy: "Future[Any]") -> list[Any]:
    """The answers to others for as long as something takes."""
    answers = []
    while not lengthy.done():
        found = client.classify(TEXTS)
        if not lengthy.done():  # it came back before, and not because of, the end of the other
            answers.append(found)
    return answers


@pytest.mark.parametrize(
    "lengthy",
    [
        pytest.param(lambda client: client.explain(LONG, method="ig"), id="explain"),
        pytest.param(lambda client: client.classify([LONG] * 3, words=True), id="words"),
    ],
)
def test_others_are_answered_while_an_explanation_is_computed_and_as_ever(client: unmask.Client, lengthy: Any) -> None:
    before = client.classify(TEXTS)
    with ThreadPoolExecutor(1) as pool:
        answers = meanwhile(client, pool.submit(lengthy, client))
    assert len(answers) >= 3
    for found in answers:
        for one, other in zip(found, before, strict=True):
            assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)


def test_the_client_chooses_what_is_neutral(client: unmask.Client) -> None:
    assert client.classify(TEXTS[0], neutral_below=1.0)["sentiment"] == "neutral"
    assert client.classify(TEXTS[0], neutral_below=0.0)["sentiment"] == "positive"


def test_a_twin_has_the_very_same_weights_in_parts_of_its_own() -> None:
    model = Bert(BertConfig.named("tiny", vocabulary_size=9))
    twin = twin_of(model)
    assert [weight.data_ptr() for weight in twin.parameters()] == [weight.data_ptr() for weight in model.parameters()]
    assert not {*map(id, twin.modules())} & {*map(id, model.modules())}
