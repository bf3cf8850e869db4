"""A chat falls back on the FAQs and documents that are served beside it, whichever chat it is and whatever comes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chats import small_encoder, write_talks
from starlette.testclient import TestClient

from unmask.apps.chat_models import Learning
from unmask.apps.chat_training import ChatTraining
from unmask.apps.document_index import Source, indexed
from unmask.apps.faq import Faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import FaqIndex
from unmask.apps.vectors import TextVectors
from unmask.serve.models import Models, folders_of
from unmask.serve.questions import Question, ToSay
from unmask.serve.server import Settings, make_app

from .test_served_models import until, watched

pytestmark = pytest.mark.slow

TICKET = "How much is a ticket?"
CHINESE = "门票多少钱？"


def save_faq(folder: Path, price: str) -> Path:
    entries = (
        Entry(TICKET, f"A ticket costs {price}.", ("What is the price of a ticket?",)),
        Entry("May I bring my dog?", "Dogs are welcome on a lead.", ("Is my dog allowed?",)),
        Entry(CHINESE, "门票四元。", ("一张门票多少钱？",)),
    )
    Faq.of(FaqIndex.of(entries, TextVectors("default"))).save(folder)
    return folder


@pytest.fixture(scope="module")
def faq(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_faq(tmp_path_factory.mktemp("served") / "faq", "four crowns")


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An FAQ on other matters, but for one question that is much like one of the first."""
    entries = (
        Entry("When does the ferry leave?", "The ferry leaves at ten.", ("At what time does the ferry leave?",)),
        Entry(
            "How much is a ticket for the ferry?",
            "The crossing is two crowns.",
            ("What is the price of a ticket for the ferry?",),
        ),
        Entry("渡轮几点开？", "渡轮十点开。", ("渡轮什么时候开？",)),
    )
    folder = tmp_path_factory.mktemp("ferry") / "ferry"
    Faq.of(FaqIndex.of(entries, TextVectors("default"))).save(folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    learning = Learning(model=str(small_encoder(place / "encoder")), most=40, most_read=20, epochs=1, length=32)
    ChatTraining(place / "chat", [write_talks(place / "talks.jsonl")], learning).train()
    return place / "chat"


@contextmanager
def served(*folders: Path | str) -> Iterator[TestClient]:
    models = Models(folders_of([str(folder) for folder in folders]))
    models.open()
    with TestClient(make_app(models, Settings(log=lambda *_, **__: None))) as client:
        yield client


def said(client: TestClient, text: str, conversation: str | None = None) -> Any:
    body = {"text": text} if conversation is None else {"text": text, "conversation": conversation}
    return client.post("/v1/chat", json=body).json()


def test_the_embedded_chat_answers_from_the_faq_beside_it_and_says_so(faq: Path) -> None:
    with served("default:chat", faq) as client:
        found = said(client, TICKET)
        assert (found["answer"], found["source"]) == ("A ticket costs four crowns.", "faq")
        assert said(client, "Who are you?")["source"] == "dialogue"


def test_without_the_faq_it_does_not_know() -> None:
    with served("default:chat") as client:
        found = said(client, TICKET)
        assert (found["answer"], found["source"]) == (None, None)


def test_a_trained_chat_does_the_same_in_any_order_of_folders(faq: Path, trained: Path) -> None:
    with served(trained) as alone:
        assert said(alone, CHINESE)["answer"] is None
    with served(faq, trained) as client:
        found = said(client, CHINESE)
        assert (found["answer"], found["source"]) == ("门票四元。", "faq")


def test_what_was_answered_already_is_said_to_be_so(faq: Path) -> None:
    with served("default:chat", faq) as client:
        first = said(client, TICKET)
        assert "again" not in first
        second = said(client, "What is the price of a ticket?", first["conversation"])
        assert (second["answer"], second["again"]) == (None, first["answer"])


@pytest.mark.parametrize("first", ["faq", "ferry"])
def test_of_several_faqs_the_surest_answers(faq: Path, ferry: Path, first: str) -> None:
    folders = (faq, ferry) if first == "faq" else (ferry, faq)
    with served("default:chat", *folders) as client:
        found = [
            said(client, text) for text in (TICKET, "How much is a ticket for the ferry?", CHINESE, "渡轮几点开？")
        ]
        answers = ["A ticket costs four crowns.", "The crossing is two crowns.", "门票四元。", "渡轮十点开。"]
        assert [one["answer"] for one in found] == answers
        assert {one["source"] for one in found} == {"faq"}


def test_where_one_faq_has_spoken_another_gives_no_worse_answer(faq: Path, ferry: Path) -> None:
    with served("default:chat", faq, ferry) as client:
        first = said(client, TICKET)
        both = [one["answer"] for one in first["candidates"] if one["source"] == "faq"]
        assert both == [first["answer"], "The crossing is two crowns."]
        second = said(client, TICKET, first["conversation"])
        assert (second["answer"], second["again"]) == (None, first["answer"])


def test_a_rebuilt_faq_is_known_to_the_chat(tmp_path: Path) -> None:
    folder = save_faq(tmp_path / "faq", "four crowns")
    told: list[str] = []
    models = Models(folders_of(["default:chat", str(folder)]), tell=lambda event, **_: told.append(event))

    async def work() -> Any:
        await asyncio.to_thread(save_faq, folder, "ninety pounds")
        await until(lambda: "reloaded" in told)
        return models.find(None, "chat").application([Question("chat", ToSay(TICKET))])[0]

    assert watched(models, work).answer == "A ticket costs ninety pounds."


def test_the_documents_beside_a_chat_are_asked_too(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("the quick brown fox was lazy")
    indexed([Source.of(tmp_path / "log.txt")])[0].save(tmp_path / "papers", reader=str(folders["reader"]))
    models = Models(folders_of(["default:chat", str(tmp_path / "papers")]))
    models.open()
    chat, papers = (models.find(None, ask).application.opened for ask in ("chat", "documents"))
    assert (chat.faqs, chat.documents) == ((), (papers,))
