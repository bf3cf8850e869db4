"""A conversation that is kept: what a person says comes in, what the chat says goes out, and both are remembered."""

from dataclasses import dataclass
from typing import Any, Protocol

from unmask.apps.chat import Reply
from unmask.apps.conversations import Conversations, Turn
from unmask.apps.not_knowing import not_knowing, saying_again


class Replies(Protocol):
    """Whoever replies, as a chat does."""

    def reply(self, history: list[str], said: str) -> Reply: ...


@dataclass(frozen=True)
class Spoken:
    """What the chat said, in which conversation; where it has no answer, or has given it already, the words say so."""

    words: str
    reply: Reply
    conversation: str

    def to_dict(self) -> dict[str, Any]:
        """The reply as JSON has it."""
        return {**self.reply.to_dict(), "words": self.words, "conversation": self.conversation}


class Talk:
    """A conversation with a chat; one that was begun earlier goes on by its id.

    >>> class Echo:
    ...     def reply(self, history: list[str], said: str) -> Reply:
    ...         return Reply(None, 0.0, None) if history else Reply(f"{said}?", 1.0, "dialogue")
    >>> talk = Talk(Echo(), Conversations(":memory:"))
    >>> talk.say("Tea").words, talk.say("Tea").words, len(talk.history)
    ('Tea?', 'I do not know what to say to that.', 4)
    """

    def __init__(self, chat: Replies, conversations: Conversations, conversation: str | None = None) -> None:
        self.chat, self.conversations = chat, conversations
        self.conversation = conversation or conversations.new()
        self.last: Spoken | None = None
        conversations.turns(self.conversation)  # an id of no conversation is noticed before anything is said

    @property
    def history(self) -> list[str]:
        """Everything said so far, by either side."""
        return [turn.text for turn in self.conversations.turns(self.conversation)]

    def say(self, text: str) -> Spoken:
        """What the chat says to something; both are kept, or neither."""
        history = self.history
        reply = self.chat.reply(history, text)
        without = not_knowing if reply.again is None else saying_again
        words = without(text, history) if reply.answer is None else reply.answer
        self.conversations.add(self.conversation, Turn("user", text), Turn("bot", words))
        self.last = Spoken(words, reply, self.conversation)
        return self.last

    def begin_anew(self) -> None:
        """Begins another conversation; this one stays where it is kept."""
        self.conversation, self.last = self.conversations.new(), None
