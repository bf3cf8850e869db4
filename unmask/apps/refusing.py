"""Inputs that cannot be answered: an example in, what is wrong with it out, so that one bad row spares the others."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from unmask.data.cells import is_blank
from unmask.errors import InputError

LONGEST_TEXT = 1 << 20  # characters of one text


@dataclass(frozen=True)
class Refused:
    """What stands in place of an answer."""

    error: str

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {"error": self.error}


def fault_of(example: Any) -> Refused | None:
    """What is wrong with an example's texts, if anything is.

    >>> from unmask.data.examples import TextExample
    >>> fault_of(TextExample("all well")), fault_of(TextExample("half", "a\\x00b")).error
    (None, 'got a NUL character at position 1; wanted text; remove it')
    """
    for text in _texts(example):
        problem = _problem(text)
        if problem is not None:
            return Refused(str(problem))
    return None


def fault_of_words(text: str, kind: str = "text") -> Refused | None:
    """What is wrong with a text that must have words to be answered, if anything is; `kind` names it to people.

    >>> fault_of_words("  ", "question").error
    'got an empty question; wanted a question in words'
    """
    if is_blank(text):
        return Refused(str(InputError(f"an empty {kind}", wanted=f"a {kind} in words")))
    problem = _problem(text)
    return None if problem is None else Refused(str(problem))


def _problem(text: str) -> InputError | None:
    if len(text) > LONGEST_TEXT:
        return InputError(f"a text of {len(text):,} characters", wanted=f"at most {LONGEST_TEXT:,}", do="divide it")
    if "\0" in text:
        return InputError(f"a NUL character at position {text.index(chr(0))}", wanted="text", do="remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return InputError(
            f"half a character (a lone surrogate) at position {error.start}",
            wanted="text that can be written as UTF-8",
            do="decode the source with the right encoding",
        )
    return None


def _texts(example: Any) -> Iterator[str]:
    """The texts of an example of any kind."""
    for field in fields(example):
        value = getattr(example, field.name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from (part for part in value if isinstance(part, str))
