"""Conversations over HTTP: what is said goes to a chat with all that was said before; turns are kept until they expire.

Who knows a conversation's id can go on with it, read it and delete it; ids cannot be guessed.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field, model_validator

from unmask.apps.conversations import Conversations, Turn
from unmask.serve import replies
from unmask.serve.asked import Asked, answer_of, question_of
from unmask.serve.models import Models
from unmask.serve.questions import Question, ToSay

LONGEST_SAID = 10_000  # characters of one turn
EVERY = 60.0  # seconds between looks for conversations that have expired


class Chat(Asked):
    """Something said, in a conversation or at the beginning of one."""

    path, ask, reply = "/v1/chat", "chat", replies.Chat
    summary = "The reply in a conversation, which begins where no id is given"
    examples: ClassVar = {"a beginning": {"text": "Hello, how are you?"}, "开始": {"text": "你好，今天怎么样？"}}

    text: str = Field(max_length=LONGEST_SAID)
    conversation: str | None = Field(None, max_length=100, description="The id of an earlier answer, to go on there.")

    def questions(self) -> list[Question]:
        return [self.after(())]

    def after(self, history: Sequence[str]) -> Question:
        """The question to a chat, given everything said before."""
        return question_of(self.ask, ToSay(self.text, tuple(history)))

    def told(self, model: str, outcomes: Sequence[Any]) -> dict[str, Any]:
        del model
        return answer_of(outcomes[0])

    @model_validator(mode="after")
    def _is_said(self) -> "Chat":
        if not self.text.strip():
            raise ValueError("an empty text; wanted something said")
        return self


class Talks:
    """The conversations of a server: read and written on other threads, one turn at a time in each."""

    def __init__(self, kept: Conversations) -> None:
        self.kept = kept
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def say(self, body: Chat, models: Models, request: Request, timeout: float) -> dict[str, Any]:
        """The reply, when it has been kept together with what was said; what fails leaves no trace."""
        async with self._turn(body.conversation):
            history = [turn.text for turn in await self.turns(body.conversation)]
            served = models.find(body.model, body.ask)  # after every other wait: it may be replaced at any
            request.scope["state"].update(model=served.name, count=1)
            told = body.told(served.name, await served.submit([body.after(history)], timeout=timeout))
            return told | {"conversation": await asyncio.to_thread(self._keep, body, told["answer"])}

    async def turns(self, conversation: str | None) -> list[Turn]:
        """All that was said in a conversation."""
        return [] if conversation is None else await asyncio.to_thread(self.kept.turns, conversation)

    async def delete(self, conversation: str) -> None:
        """Forgets a conversation."""
        await asyncio.to_thread(self.kept.delete, conversation)

    async def expire(self, *, every: float = EVERY) -> None:
        """Forgets again and again what has expired."""
        while True:
            await asyncio.to_thread(self.kept.expire)
            await asyncio.sleep(every)

    def _keep(self, body: Chat, answer: str | None) -> str:
        conversation = body.conversation or self.kept.new()
        replied = [] if answer is None else [Turn("bot", answer)]
        self.kept.add(conversation, Turn("user", body.text), *replied)
        return conversation

    @asynccontextmanager
    async def _turn(self, conversation: str | None) -> AsyncIterator[None]:
        """Who speaks twice at once in one conversation is answered in turn."""
        lock = asyncio.Lock()
        if conversation is not None:
            lock = self._turns.setdefault(conversation, lock)
        async with lock:
            yield


def add_conversations(app: FastAPI, talks: Talks) -> None:
    """The endpoints of a conversation as a whole."""
    faults: dict[int | str, dict[str, Any]] = {status: replies.FAULTS[status] for status in (401, 404, 422)}

    @app.get("/v1/chat/{id}", summary="A conversation", response_model=replies.Conversation, responses=faults)
    async def conversation(id: str) -> Response:
        turns = [turn.to_dict() for turn in await talks.turns(id)]
        return JSONResponse({"conversation": id, "turns": turns})

    @app.delete("/v1/chat/{id}", summary="Forget a conversation", status_code=204, responses=faults)
    async def forget(id: str) -> Response:
        await talks.delete(id)
        return Response(status_code=204)
