"""Answers of a fine-tuned model: examples of its task in, an answer for each out, in their order, however many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from unmask.data.examples import ChoiceExample, QuestionExample, Reading, TaggedExample, TextExample
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.model.folder import ModelFolder, open_model
from unmask.model.heads import BertWithHead
from unmask.model.outputs import Report, outputs_of
from unmask.tasks.asked import Asked, asked
from unmask.tasks.kinds import task_of
from unmask.tasks.presets import PRESETS

BLOCK = 4096  # examples in memory at once: enough to find many of like length among them


class Predictor:
    """A fine-tuned model folder, ready to answer."""

    def __init__(self, opened: ModelFolder, name: str = "the model") -> None:
        self.task = task_of(opened.about, opened.config.positions, name)
        assert isinstance(opened.model, BertWithHead)
        self.model, self.tokenizer, self.about = opened.model, opened.tokenizer, opened.about

    @classmethod
    def open(cls, folder: Path | str, *, device: str = "cpu") -> "Predictor":
        """The predictor of a folder."""
        return cls(open_model(folder, device=device), str(folder))

    @property
    def asked(self) -> Asked:
        """The preset or kind of task that the folder was made for; it says how files are read."""
        return asked(self.about.task if self.about.task in PRESETS else self.task.kind)

    def __call__(self, text: Any) -> Any:
        """The answer for one text, pair of texts or example, or a list of answers for a list."""
        if isinstance(text, list):
            return self.many([self.example(one) for one in text])
        return self.many([self.example(text)])[0]

    def example(self, given: Any) -> Any:
        """A text or a pair of texts as an example of the task; an example as it is."""
        parts = (given,) if isinstance(given, str) else given
        if isinstance(parts, tuple) and len(parts) in (1, 2) and all(isinstance(part, str) for part in parts):
            make = FROM_TEXTS.get(self.task.kind, TextExample)
            return make(*parts)
        if isinstance(given, EXAMPLES):
            return given
        raise InputError(f"a {type(given).__name__}", wanted="a text, a pair of texts, or an example of the task")

    def many(self, examples: Sequence[Any], *, report: Report = lambda *_: None) -> list[Any]:
        """An answer for each example."""
        if not examples:
            return []
        rows = self.task.rows(examples, self.tokenizer)
        return self.task.answers(examples, rows, outputs_of(self.model, rows, report=report))

    def stream(self, examples: Iterable[Any]) -> Iterator[Any]:
        """The same for any number of examples, a block at a time."""
        source = iter(examples)
        while block := list(islice(source, BLOCK)):
            yield from self.many(block)

    def evaluate(self, reading: Reading, *, report: Report = lambda *_: None) -> dict[str, float]:
        """The task's official figures on labelled examples."""
        return self.task.scores(reading.examples, self.many(reading.examples, report=report))


def _question(question: str, context: str | None = None) -> QuestionExample:
    if context is None:
        raise InputError("a question alone", wanted="a question and the text that may answer it")
    return QuestionExample(question, context)


def _choice(*_: str) -> Any:
    raise InputError("a text alone", wanted="a context with its endings", do="give them in a file with --input")


EXAMPLES = (TextExample, TaggedExample, QuestionExample, ChoiceExample)
FROM_TEXTS: dict[str, Callable[..., Any]] = {"tag": untagged, "answer": _question, "choose": _choice}
