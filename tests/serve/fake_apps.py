"""Applications that say what they are told to, for page and endpoints: documents, questions, a chat."""

from pathlib import Path
from typing import Any

from unmask.serve.application import open_application
from unmask.serve.questions import Application, ToAsk, ToSay


class Told:
    """An answer that is made already."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def to_dict(self) -> dict[str, Any]:
        return self.fields


def faq(examples: list[ToAsk]) -> list[Told]:
    known = [{"question": "How is it stopped?", "answer": "With Ctrl + C.", "score": 0.91}]
    known.append({"question": "怎样停止？", "answer": "按 Ctrl + C。", "score": 0.42})
    return [
        Told(answer=known[0]["answer"] if "stop" in e.question else None, score=0.91, candidates=known)
        for e in examples
    ]


def documents(examples: list[ToAsk]) -> list[Told]:
    found = {"answer": "at nine 😀", "start": 40, "end": 49, "score": 0.8}
    sentence = "😀 The ferry leaves at nine 😀 from the old pier."
    empty = {"answer": None, "start": None, "end": None, "source": None, "sentence": None}
    more = {"no_answer_probability": 0.15, "nbest": [found], "source": "ferry.md", "sentence": sentence}
    return [Told(**found, **more) if "?" in e.question else Told(**more | found | empty) for e in examples]


def chat(examples: list[ToSay]) -> list[Told]:
    """Counts what was said before; knows nothing to say to `nothing`, and has said it to `again`."""
    return [
        Told(
            answer=None if e.text in ("nothing", "again") else f"{len(e.history)} turns before “{e.text}”",
            score=0.5,
            source=None if e.text in ("nothing", "again") else "dialogue",
            candidates=[],
            **({"again": "so"} if e.text == "again" else {}),
        )
        for e in examples
    ]


FAKES = {"faq": faq, "documents": documents, "chat": chat}


def open_fake(folder: Path) -> Application:
    """A fake by its name, any other folder as it is."""
    if str(folder) in FAKES:
        return Application("made up", {str(folder): FAKES[str(folder)]})
    return open_application(folder)
