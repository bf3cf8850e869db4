"""A conversation is remembered: the chat sees all of it, also after a new start."""

from pathlib import Path

import pytest

from unmask.apps.chat import Reply
from unmask.apps.conversations import Conversations, UnknownConversation
from unmask.apps.not_knowing import AGAIN, WORDS, says_nothing
from unmask.apps.talking import Talk
from unmask.errors import InputError


class Remembers:
    """Replies with how much was said before; knows nothing of what ends with a question mark."""

    def reply(self, history: list[str], said: str) -> Reply:
        if not said.strip():
            raise InputError("an empty turn")
        return Reply(None if said.endswith("?") else f"{len(history)} before", 1.0, "dialogue")


def test_every_turn_sees_all_turns_before_it() -> None:
    talk = Talk(Remembers(), Conversations(":memory:"))
    assert [talk.say(word).words for word in ("a", "b", "c")] == ["0 before", "2 before", "4 before"]
    assert talk.history == ["a", "0 before", "b", "2 before", "c", "4 before"]


def test_a_conversation_goes_on_after_a_new_start(tmp_path: Path) -> None:
    first = Talk(Remembers(), Conversations(tmp_path / "talks.db"))
    first.say("a")
    again = Talk(Remembers(), Conversations(tmp_path / "talks.db"), first.conversation)
    assert again.say("b").words == "2 before"


def test_what_is_not_known_is_said_in_other_words_each_time() -> None:
    talk = Talk(Remembers(), Conversations(":memory:"))
    said = [talk.say("why?") for _ in WORDS["en"]]
    assert all(one.reply.answer is None and says_nothing(one.words) for one in said)
    assert len({one.words for one in said}) == len(said)


class SaidBefore:
    """Has said everything already."""

    def reply(self, history: list[str], said: str) -> Reply:
        return Reply(None, 1.0, None, again=f"{said} {len(history)}")


def test_what_was_said_already_is_said_to_be_so_in_the_language_of_the_question() -> None:
    talk = Talk(SaidBefore(), Conversations(":memory:"))
    assert talk.say("who?").words in AGAIN["en"]
    assert talk.say("谁？").words in AGAIN["zh"]


def test_a_new_conversation_knows_nothing_of_the_old_which_stays() -> None:
    talk = Talk(Remembers(), Conversations(":memory:"))
    talk.say("a")
    old = talk.conversation
    talk.begin_anew()
    assert talk.say("b").words == "0 before"
    assert len(talk.conversations.turns(old)) == 2


def test_a_turn_that_cannot_be_read_leaves_no_trace() -> None:
    talk = Talk(Remembers(), Conversations(":memory:"))
    with pytest.raises(InputError):
        talk.say(" ")
    assert talk.history == []


def test_an_unknown_conversation_is_noticed_before_anything_is_said() -> None:
    with pytest.raises(UnknownConversation):
        Talk(Remembers(), Conversations(":memory:"), "A" * 22)
