"""The small chat inside the package: dialogues of our own on greetings and on unmask, in English and Chinese.

It has learned nothing but them: it replies in situations that are like one it knows, by the words and by the vectors of
the embedded encoder, and in no others.
"""

from collections.abc import Sequence

from unmask.apps.chat import Chat, Knowledge
from unmask.apps.response_base import ResponseBase
from unmask.apps.vectors import TextVectors
from unmask.data.dialogues import exchanges, read_dialogues
from unmask.model.named import EMBEDDED

DIALOGUES = EMBEDDED / "chat" / "dialogues.txt"
KNOWN = 0.35  # how like a known situation must be: other phrasings of ours had 0.4 and more, strangers 0.3 at most


def builtin_chat(*, faqs: Sequence[Knowledge] = (), documents: Sequence[Knowledge] = ()) -> Chat:
    """The chat of the package."""
    dialogues = read_dialogues([DIALOGUES]).dialogues
    # every second turn is the chat's; what people say to it is nothing for it to say
    replies = [exchange for dialogue in dialogues for exchange in exchanges(dialogue)[::2]]
    return Chat(ResponseBase.of(replies, TextVectors("default")), None, KNOWN, faqs=faqs, documents=documents)
