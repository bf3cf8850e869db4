"""Folders of applications are served as models are: documents, frequent questions, conversations; replaced ones too."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model
from starlette.testclient import TestClient

from unmask.apps.document_index import Source, indexed
from unmask.apps.faq import Faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import FaqIndex
from unmask.apps.vectors import TextVectors
from unmask.compress.export import export
from unmask.errors import InputError
from unmask.serve.application import open_application
from unmask.serve.models import Models, embedded_names, folders_of
from unmask.serve.questions import Question, ToAsk, ToSay
from unmask.serve.server import Settings, make_app

from .fake_apps import open_fake
from .test_served_models import until, watched


def save_faq(folder: Path, encoder: Path, answer: str) -> Path:
    entries = (Entry("the quick fox", answer), Entry("the lazy dog", "no"), Entry("我们", "好"))
    Faq.of(FaqIndex.of(entries, TextVectors(encoder))).save(folder)
    return folder


@pytest.fixture(scope="module")
def apps(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("apps")
    (place / "log.txt").write_text("the quick brown fox was lazy")
    indexed([Source.of(place / "log.txt")])[0].save(place / "papers", reader=str(folders["reader"]))
    return {"questions": save_faq(place / "questions", folders["vectors"], "yes"), "papers": place / "papers"}


@pytest.fixture
def client(apps: dict[str, Path], folders: dict[str, Path]) -> Iterator[TestClient]:
    named = apps | {"quick": folders["quick"], "chat": Path("chat")}
    models = Models(named, open=open_fake)
    models.open()
    with TestClient(make_app(models, Settings(log=lambda *_, **__: None))) as client:
        yield client


def test_frequent_questions_are_answered_one_or_many(client: TestClient) -> None:
    found = client.post("/v1/faq", json={"question": "the quick fox"}).json()
    assert found["candidates"][0] == {"question": "the quick fox", "answer": "yes", "score": pytest.approx(1, abs=0.05)}
    many = client.post("/v1/faq", json={"question": ["the lazy dog", "a\0b"]}).json()["answers"]
    assert (many[0]["candidates"][0]["answer"], "NUL" in many[1]["error"]) == ("no", True)


def test_a_question_without_a_text_is_asked_of_the_documents(client: TestClient) -> None:
    found = client.post("/v1/answer", json={"question": "what was the fox ?"}).json()
    assert found["nbest"][0]["answer"] in "the quick brown fox was lazy"
    assert found["answer"] is None or found["source"].endswith("log.txt")
    refused = client.post("/v1/answer", json={"question": "what ?", "context": "the fox", "model": "papers"})
    assert (refused.status_code, "'answer' of the model 'papers'" in refused.text) == (422, True)


def test_an_empty_question_is_refused_in_words(client: TestClient) -> None:
    for path in ("/v1/faq", "/v1/answer"):
        assert "empty question" in client.post(path, json={"question": "  "}).json()["error"]["message"]


def test_a_conversation_goes_on_is_read_and_is_deleted(client: TestClient) -> None:
    first = client.post("/v1/chat", json={"text": "Hello!"}).json()
    id = first["conversation"]
    assert first["answer"] == "0 turns before “Hello!”"
    second = client.post("/v1/chat", json={"text": "And now?", "conversation": id}).json()
    assert (second["answer"], second["conversation"]) == ("2 turns before “And now?”", id)
    turns = client.get(f"/v1/chat/{id}").json()["turns"]
    assert [turn["speaker"] for turn in turns] == ["user", "bot", "user", "bot"]
    assert client.delete(f"/v1/chat/{id}").status_code == 204
    for response in (client.get(f"/v1/chat/{id}"), client.post("/v1/chat", json={"text": "a", "conversation": id})):
        assert (response.status_code, response.json()["error"]["code"]) == (404, "conversation_not_found")


def test_what_was_not_answered_is_remembered_as_said_all_the_same(client: TestClient) -> None:
    found = client.post("/v1/chat", json={"text": "nothing"}).json()
    assert (found["answer"], found["source"]) == (None, None)
    assert [turn["text"] for turn in client.get(f"/v1/chat/{found['conversation']}").json()["turns"]] == ["nothing"]


def test_who_speaks_several_times_at_once_is_answered_in_turn(client: TestClient) -> None:
    id = client.post("/v1/chat", json={"text": "a"}).json()["conversation"]

    def say(number: int) -> Any:
        return client.post("/v1/chat", json={"text": str(number), "conversation": id}).json()["answer"]

    with ThreadPoolExecutor(6) as pool:
        before = sorted(int(answer.split()[0]) for answer in pool.map(say, range(6)))
    assert before == [2, 4, 6, 8, 10, 12]


def test_conversations_expire() -> None:
    models = Models({"chat": Path("chat")}, open=open_fake)
    models.open()
    with TestClient(make_app(models, Settings(keep=0.5, log=lambda *_, **__: None))) as other:
        id = other.post("/v1/chat", json={"text": "Hello!"}).json()["conversation"]
        time.sleep(0.6)
        assert other.get(f"/v1/chat/{id}").status_code == 404


def test_a_rebuilt_faq_is_taken_up(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = save_faq(tmp_path / "faq", folders["vectors"], "old")
    told: list[str] = []
    models = Models({"faq": folder}, tell=lambda event, **_: told.append(event))

    async def work() -> Any:
        await asyncio.to_thread(save_faq, folder, folders["vectors"], "new")
        await until(lambda: "reloaded" in told)
        return next(iter(models)).application

    found = watched(models, work)([Question("faq", ToAsk("the quick fox"))])[0]
    assert found.candidates[0].answer == "new"


def test_an_application_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "unmask.json").write_text('{"app": "poetry", "version": 1}')
    with pytest.raises(InputError, match="'poetry'; wanted one of documents, faq, chat"):
        open_application(tmp_path)


def test_without_a_folder_the_embedded_models_and_chat_are_served() -> None:
    assert {"default", "default:chat"} <= {*embedded_names()}
    assert {"default", "default:chat"} <= folders_of([]).keys()


@pytest.mark.slow
def test_the_embedded_chat_replies() -> None:
    found = open_application(folders_of(["default:chat"])["default:chat"])([Question("chat", ToSay("Hello!"))])[0]
    assert found.answer


def test_explanations_come_from_models_in_torch_only(folders: dict[str, Path]) -> None:
    models = Models({"quick": folders["quick"], "reviews": folders["reviews"]})
    models.open()
    with TestClient(make_app(models, Settings(log=lambda *_, **__: None))) as client:
        found = client.post("/v1/explain", json={"text": "the quick fox was lazy", "method": "gradient"}).json()
        assert found["tokens"] == ["the", "quick", "fox", "was", "lazy"]
        assert {"comprehensiveness", "sufficiency", "random"} <= found["faithfulness"].keys()
        refused = client.post("/v1/explain", json={"text": "the fox", "model": "quick"})
        assert (refused.status_code, "reviews" in refused.json()["error"]["message"]) == (422, True)
        unknown = client.post("/v1/explain", json={"text": "the fox", "target": "nobody"})
        assert (unknown.status_code, "nobody" in unknown.json()["error"]["message"]) == (422, True)


def threads_of(outputs: Any) -> int:
    """How many threads the session behind an exported model's outputs has."""
    count: int = outputs.__self__.threads
    return count


@pytest.mark.parametrize("threads", [1, 3])
def test_an_applications_models_use_as_many_threads_as_were_asked_for(tmp_path: Path, threads: int) -> None:
    encoder = export(small_model("embedding", normalise=True), tmp_path / "encoder").folder
    reader = export(small_model("span"), tmp_path / "reader").folder
    (tmp_path / "log.txt").write_text("the quick brown fox was lazy")
    indexed([Source.of(tmp_path / "log.txt")])[0].save(tmp_path / "papers", reader=str(reader))
    faq, papers = save_faq(tmp_path / "faq", encoder, "yes"), tmp_path / "papers"
    answers, texts = (open_application(folder, threads=threads).opened for folder in (faq, papers))
    assert [threads_of(answers.index.space.encoder.embedding.outputs), threads_of(texts.reader.outputs)] == [
        threads,
        threads,
    ]
