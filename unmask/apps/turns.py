"""The turns of a conversation as models and people take them: as one text, in a language, as something said before."""

import re
from collections.abc import Iterable, Sequence

from unmask.retrieve.lexical import terms
from unmask.text.sentences import CHINESE

LATEST = 8  # turns that a reply may depend on; what is too long for the model is cut from the oldest on
BETWEEN = " [SEP] "  # the piece that ends a text in pretraining
SAME_SHARE = 0.75  # of the words of two turns in common: the one says the other again
CHINESE_CHARACTER = re.compile(f"[{CHINESE}]")


def context_text(turns: Sequence[str]) -> str:
    """The latest turns as one text, the last of them at its end.

    >>> context_text(["Tea?", "Yes.", "Milk?"])
    'Tea? [SEP] Yes. [SEP] Milk?'
    """
    return BETWEEN.join(turns[-LATEST:])


def language_of(text: str) -> str:
    """Chinese if there is a Chinese character, else English.

    >>> language_of("你好！"), language_of("Hello!")
    ('zh', 'en')
    """
    return "zh" if CHINESE_CHARACTER.search(text) else "en"


class Said:
    """What has been said, so that it is not said again.

    >>> said = Said(["How are you today?", "I am well."])
    >>> "how are you, today" in said, "I am well!" in said, "Where are you?" in said
    (True, True, False)
    """

    def __init__(self, turns: Iterable[str]) -> None:
        self.turns = [_words(turn) for turn in turns]

    def __contains__(self, text: str) -> bool:
        words = _words(text)
        return any(_same(words, turn) for turn in self.turns)


def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text)) or frozenset([text.strip()])  # a turn may be nothing but "!!!"


def _same(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= SAME_SHARE * len(words | others)
