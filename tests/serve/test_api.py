"""Every ask over HTTP: the answers of the contract, and words for everything that cannot be answered."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from unmask.apps.classify import Classify
from unmask.apps.fill import Filler
from unmask.apps.predict import Predictor
from unmask.model.folder import open_model
from unmask.model.named import find_model
from unmask.serve.api import MOST_MASKS, Fill
from unmask.serve.asked import LONGEST, MOST_TEXTS
from unmask.serve.batcher import LARGEST
from unmask.serve.models import Models
from unmask.serve.server import Settings, make_app

TEXT = "they had hoped for the quick brown fox"


def ask(client: TestClient, path: str, **body: Any) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refused(client: TestClient, path: str, **body: Any) -> tuple[int, str]:
    response = client.post(path, json=body)
    return response.status_code, response.json()["error"]["message"]


def test_fill_answers_as_the_application_does(client: TestClient, folders: dict[str, Path]) -> None:
    opened = open_model(folders["words"])
    expected = Filler(opened.model, opened.tokenizer)("the [MASK] fox", top=2).to_dict()
    found = ask(client, "/v1/fill", text="the [MASK] fox", top=2)
    assert found["masks"][0]["candidates"] == [
        {"token": candidate["token"], "probability": pytest.approx(candidate["probability"], abs=1e-6)}
        for candidate in expected["masks"][0]["candidates"]
    ]
    assert (found["text"], found["masks"][0]["start"], found["masks"][0]["end"]) == ("the [MASK] fox", 4, 10)


FINE_TUNED = [
    ("reviews", Classify, "/v1/classify"),
    ("stars", Predictor, "/v1/classify"),
    ("names", Predictor, "/v1/tag"),
]


@pytest.mark.parametrize(("name", "app", "path"), FINE_TUNED)
def test_a_text_is_answered_as_on_the_command_line(
    client: TestClient, folders: dict[str, Path], name: str, app: Any, path: str
) -> None:
    expected, numbers = numbers_apart(json.dumps(app.open(folders[name])(TEXT).to_dict()))
    found, found_numbers = numbers_apart(client.post(path, json={"text": TEXT, "model": name}).text)
    assert found == expected
    assert found_numbers == pytest.approx(numbers, abs=1e-5)  # a server computes by onnxruntime


def numbers_apart(text: str) -> tuple[Any, list[float]]:
    """JSON without its fractions, and these."""
    numbers: list[float] = []
    return json.loads(text, parse_float=lambda number: numbers.append(float(number))), numbers


def test_a_question_is_answered_from_its_context(client: TestClient, folders: dict[str, Path]) -> None:
    found = ask(client, "/v1/answer", question="what was it ?", context=TEXT)
    expected = Predictor.open(folders["reader"])(("what was it ?", TEXT)).to_dict()
    assert {name: found[name] for name in ("answer", "start", "end")} == {
        name: expected[name] for name in ("answer", "start", "end")
    }
    assert found.keys() == expected.keys()
    assert found["nbest"][0]["answer"] == TEXT[found["nbest"][0]["start"] : found["nbest"][0]["end"]]


def test_a_list_is_answered_in_its_order_with_the_fault_of_a_text_in_its_place(client: TestClient) -> None:
    answers = ask(client, "/v1/classify", text=["a dog", "a\0b", TEXT], model="reviews")["answers"]
    assert ["label" in answer for answer in answers] == [True, False, True]
    assert [*answers[1]] == ["error"]
    assert answers[0]["label"] == ask(client, "/v1/classify", text="a dog", model="reviews")["label"]
    assert "NUL" in answers[1]["error"]


def test_one_text_without_a_mask_does_not_touch_the_others(client: TestClient) -> None:
    answers = ask(client, "/v1/fill", text=["the [MASK]", "no gap", "a [MASK] dog"])["answers"]
    assert ["error" in answer for answer in answers] == [False, True, False]


def test_a_pair_is_read_as_one(client: TestClient) -> None:
    alone = ask(client, "/v1/classify", text="a dog", model="reviews")
    paired = ask(client, "/v1/classify", text=["a dog"], pair=["the fox"], model="reviews")["answers"][0]
    assert alone != paired


def test_torch_and_onnxruntime_answer_alike(client: TestClient) -> None:
    one, other = (ask(client, "/v1/classify", text=TEXT, model=name) for name in ("reviews", "quick"))
    assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-4)


def test_embeddings_are_those_of_openai_in_numbers_and_in_base64(client: TestClient) -> None:
    found = ask(client, "/v1/embeddings", input=["a dog", TEXT], model="vectors")
    written = ask(client, "/v1/embeddings", input=["a dog", TEXT], model="vectors", encoding_format="base64")
    vectors = np.array([row["embedding"] for row in found["data"]], np.float32)
    same = np.stack([np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in written["data"]])
    np.testing.assert_allclose(vectors, same, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert [row["index"] for row in found["data"]] == [0, 1]
    assert found["usage"] == {"prompt_tokens": 4 + 10, "total_tokens": 14}
    assert found["model"] == "vectors"


def test_an_encoder_that_was_never_taught_to_embed_gives_the_mean_of_its_tokens(client: TestClient) -> None:
    found = ask(client, "/v1/embeddings", input=TEXT, model="words")["data"][0]["embedding"]
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


def test_without_a_name_the_first_model_that_fits_answers(client: TestClient) -> None:
    assert ask(client, "/v1/classify", text=TEXT) == ask(client, "/v1/classify", text=TEXT, model="reviews")
    assert ask(client, "/v1/embeddings", input=TEXT)["model"] == "words"


def test_models_are_listed_with_what_can_be_asked_of_them(client: TestClient) -> None:
    listed = {model["id"]: model for model in client.get("/v1/models").json()["data"]}
    assert listed["words"]["asks"] == ["fill", "embeddings", "explain"]
    assert listed["reviews"]["labels"] == ["bad", "fair", "good"]
    assert listed["quick"]["engine"] == "onnxruntime"
    assert client.get("/v1/models/stars").json() == listed["stars"]
    assert client.get("/v1/models/none").status_code == 404


BAD = {
    "unknown model": ("/v1/classify", {"text": "a", "model": "nobody"}, 404, "nobody"),
    "wrong model": ("/v1/tag", {"text": "a", "model": "reviews"}, 422, "names"),
    "no text": ("/v1/classify", {}, 422, "text: Field required"),
    "a number": ("/v1/classify", {"text": 5}, 422, "valid string"),
    "nothing": ("/v1/classify", {"text": None}, 422, "valid string"),
    "an empty list": ("/v1/classify", {"text": []}, 422, "at least 1"),
    "too many texts": ("/v1/classify", {"text": ["a"] * 10_000}, 422, f"at most {MOST_TEXTS}"),
    "too long a text": ("/v1/tag", {"text": "a " * LONGEST}, 422, f"at most {LONGEST}"),
    "too much in all": ("/v1/tag", {"text": ["a " * 45_000] * 12}, 422, "1,080,000 characters"),
    "unequal pairs": ("/v1/classify", {"text": ["a", "b"], "pair": ["c"]}, 422, "as many of each"),
    "a lonely pair": ("/v1/classify", {"text": "a", "pair": ["c"]}, 422, "a list of each"),
    "an unknown field": ("/v1/fill", {"text": "[MASK]", "topp": 3}, 422, "topp"),
    "too many candidates": ("/v1/fill", {"text": "[MASK]", "top": 10**9}, 422, "less than or equal to 100"),
    "no mask": ("/v1/fill", {"text": "nothing to fill"}, 422, "[MASK]"),
    "too many masks": ("/v1/fill", {"text": "[MASK] " * 65}, 422, "65 masks"),
    "a NUL": ("/v1/classify", {"text": "a\0b"}, 422, "NUL"),
    "a NUL to embed": ("/v1/embeddings", {"input": ["a", "a\0b"], "model": "vectors"}, 422, "input[1]"),
    "no question": ("/v1/answer", {"question": " ", "context": "a"}, 422, "empty question"),
    "numbers of pieces": ("/v1/embeddings", {"input": [1, 2]}, 422, "input"),
    "another width": ("/v1/embeddings", {"input": "a", "dimensions": 7}, 422, "32"),
    "another format": ("/v1/embeddings", {"input": "a", "encoding_format": "int8"}, 422, "base64"),
}


@pytest.mark.parametrize(("path", "body", "status", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_answered_is_refused_in_words(
    client: TestClient, path: str, body: dict[str, Any], status: int, words: str
) -> None:
    got, message = refused(client, path, **body)
    assert (got, words in message) == (status, True), message


RAW = {
    "no JSON": (b"{", 400),
    "not even text": (b"\xff\xfe\x00", 400),
    "invalid UTF-8 in a text": (b'{"text": "\xff\xfe"}', 400),
    "half a character": (b'{"text": "\\ud800"}', 422),
    "a list": (b"[]", 422),
    "nothing": (b"", 422),
    "a deep nest": (b"[" * 100_000, 400),
    "a long number": (b'{"text": ' + b"9" * 5000 + b"}", 400),
    "not a number": (b'{"text": NaN}', 422),
    "megabytes": (b'{"text": "' + b"a" * 4_000_000 + b'"}', 413),
}


@pytest.mark.parametrize(("body", "status"), RAW.values(), ids=RAW)
def test_bytes_that_are_no_request_are_refused_in_words(client: TestClient, body: bytes, status: int) -> None:
    response = client.post("/v1/classify", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, "message" in response.json()["error"]) == (status, True), response.text
    assert client.get("/healthz").json() == {"status": "ok"}


def test_other_paths_and_methods_are_refused_in_words(client: TestClient) -> None:
    for response, status in [(client.get("/nowhere"), 404), (client.get("/v1/fill"), 405)]:
        assert (response.status_code, list(response.json())) == (status, ["error"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("model", "text", "pair", "top", "question", "context", "input", "encoding_format", "dimensions")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["fill", "classify", "tag", "answer", "embeddings"]),
    st.dictionaries(st.sampled_from(FIELDS), JSON | st.text(max_size=60), max_size=5) | JSON,
)
def test_no_body_whatever_is_a_fault_of_the_server(client: TestClient, name: str, body: Any) -> None:
    content = json.dumps(body).encode()
    response = client.post(f"/v1/{name}", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in (200, 400, 404, 422), response.text
    assert response.status_code == 200 or response.json()["error"]["message"]


def test_a_text_full_of_masks_is_a_batch_of_its_own() -> None:
    question = Fill(text="[MASK] " * MOST_MASKS).questions()[0]
    assert question.weight > LARGEST > 40 * Fill(text="the [MASK]").questions()[0].weight


def test_the_description_has_examples_that_are_answered(folders: dict[str, Path]) -> None:
    models = Models(folders | {"default:sentiment": find_model("default:sentiment")})
    models.open()
    with TestClient(make_app(models, Settings(log=lambda *_, **__: None))) as client:
        paths = client.get("/openapi.json").json()["paths"]
        for path in ("/v1/fill", "/v1/classify", "/v1/tag", "/v1/answer", "/v1/embeddings"):
            examples = paths[path]["post"]["requestBody"]["content"]["application/json"]["examples"]
            for example in examples.values():
                assert client.post(path, json=example["value"]).status_code == 200, example


def test_the_page_of_the_description_names_every_path_and_asks_no_other_server(client: TestClient) -> None:
    page = client.get("/docs").text
    assert all(f"<code>{method.upper()} {path}</code>" in page for path, methods in paths(client) for method in methods)
    assert "今天天气很[MASK]。" in page
    assert not re.search(r"<script|<link|src=|url\(|https?://", page)


def paths(client: TestClient) -> Any:
    return client.get("/openapi.json").json()["paths"].items()
