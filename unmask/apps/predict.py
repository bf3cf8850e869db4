"""Answers of a fine-tuned model: examples of its task in, an answer for each out, in their order, however many.

The engine is whatever gives the head's outputs for rows: onnxruntime for a serving folder, torch for a model folder
until it is asked much. Rows are made and answers are read by the same code for both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unmask.apps.refusing import Refused, fault_of
from unmask.data.examples import ChoiceExample, QuestionExample, Reading, TaggedExample, TextExample
from unmask.data.rows import Row
from unmask.data.tables import check_known
from unmask.data.tagged import untagged
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.named import find_model
from unmask.runtime.engine import Report
from unmask.runtime.folder import ServingFolder, is_serving_folder, open_serving
from unmask.tasks.asked import Asked, asked
from unmask.tasks.classification import Classification
from unmask.tasks.kinds import task_of
from unmask.tasks.presets import PRESETS
from unmask.tasks.task import Floats, Task
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.bert import Bert
    from unmask.model.folder import ModelFolder
    from unmask.model.heads import BertWithHead

BLOCK = 4096  # examples in memory at once: enough to find many of like length among them


class Outputs(Protocol):
    """What an engine does: the head's numbers for each row, in the rows' order."""

    def __call__(self, rows: Sequence[Row], *, report: Report = ...) -> list[Floats]: ...


class AnyEngine(Protocol):
    """Who computes."""

    @property
    def name(self) -> str:
        """Its name, for people."""
        ...

    def outputs(self, rows: Sequence[Row], *, report: Report = ...) -> list[Floats]:
        """The head's numbers for each row, in the rows' order."""
        ...


def open_any(
    name: Path | str, *, device: str = "cpu", head: str | None = None, threads: int | None = None
) -> "ServingFolder | ModelFolder":
    """A serving folder for onnxruntime, any other model for torch; there `head` may ask for another than its own."""
    folder = find_model(name)
    if not is_serving_folder(folder):
        from unmask.model.folder import open_model

        return open_model(name, device=device, head=head)
    if device != "cpu":
        raise InputError(f"device {device!r} for {name}, a serving folder", wanted="cpu", do="name a model folder")
    return open_serving(folder, threads=threads)


def the_model(opened: "ServingFolder | ModelFolder") -> "Bert | BertWithHead | ServingFolder":
    """What applications compute with: the model in torch, or the serving folder itself."""
    return opened if isinstance(opened, ServingFolder) else opened.model


def outputs_and_positions(
    model: "Bert | BertWithHead | ServingFolder", tokenizer: Tokenizer, about: About
) -> tuple[Outputs, int]:
    """What gives a model's outputs for rows, and the most pieces that a row may have."""
    if isinstance(model, ServingFolder):
        return model.engine.outputs, model.config.positions
    from unmask.compress.model_engine import ModelEngine
    from unmask.model.folder import ModelFolder
    from unmask.model.heads import BertWithHead
    from unmask.model.names import LoadReport

    assert isinstance(model, BertWithHead)
    config = model.bert.config
    return ModelEngine(ModelFolder(config, model, tokenizer, about, LoadReport())).outputs, config.positions


@dataclass(frozen=True)
class Predictor:
    """A fine-tuned model, ready to answer."""

    task: Task
    tokenizer: Tokenizer
    about: About
    computing: AnyEngine

    @classmethod
    def open(
        cls, name: Path | str, *, device: str = "cpu", threads: int | None = None, precision: str = "float32"
    ) -> "Predictor":
        """The predictor of a folder, with the fastest engine that it has."""
        return cls.of(open_any(name, device=device, threads=threads), str(name), precision=precision)

    @classmethod
    def of(
        cls, opened: "ServingFolder | ModelFolder", name: str = "the model", *, precision: str = "float32"
    ) -> "Predictor":
        """The predictor of an opened folder of either kind, a model folder's with products in this precision."""
        if not isinstance(opened, ServingFolder):
            return cls.of_model(opened, name, precision=precision)
        if precision != "float32":
            raise InputError(f"precision {precision!r} of {name}, a serving folder", wanted="a model folder")
        return cls.of_serving(opened, name)

    @classmethod
    def of_model(cls, opened: "ModelFolder", name: str = "the model", *, precision: str = "float32") -> "Predictor":
        """The predictor of a model that is open in torch."""
        from unmask.compress.model_engine import ModelEngine

        task = task_of(opened.about, opened.config.positions, name)
        return cls(task, opened.tokenizer, opened.about, ModelEngine(opened, precision=precision))

    @classmethod
    def of_serving(cls, opened: ServingFolder, name: str = "the model") -> "Predictor":
        """The predictor of an exported model."""
        task = task_of(opened.about, opened.config.positions, name)
        return cls(task, opened.tokenizer, opened.about, opened.engine)

    @property
    def engine(self) -> str:
        """Who computes now, for people."""
        return self.computing.name

    @property
    def outputs(self) -> Outputs:
        """What the engine says of rows."""
        return self.computing.outputs

    @property
    def asked(self) -> Asked:
        """The preset or kind of task that the folder was made for; it says how files are read."""
        found = asked(self.about.task if self.about.task in PRESETS else self.task.kind)
        return replace(found, multi_label=self.about.multi_label)

    def __call__(self, text: Any, pair: str | None = None) -> Any:
        """The answer for one text, pair of texts or example, or a list of answers for a list."""
        if pair is not None:
            return self((text, pair))
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
        """An answer for each example, or why it has none."""
        answers: list[Any] = [fault_of(example) for example in examples]
        sound = [place for place, fault in enumerate(answers) if fault is None]
        if sound:
            chosen = [examples[place] for place in sound]
            rows = self.task.rows(chosen, self.tokenizer)
            said = self.task.answers(chosen, rows, self.outputs(rows, report=report))
            for place, answer in zip(sound, said, strict=True):
                answers[place] = answer
        return answers

    def stream(self, examples: Iterable[Any]) -> Iterator[Any]:
        """The same for any number of examples, a block at a time."""
        source = iter(examples)
        while block := list(islice(source, BLOCK)):
            yield from self.many(block)

    def evaluate(self, reading: Reading, *, report: Report = lambda *_: None) -> dict[str, float]:
        """The task's official figures on labelled examples."""
        if isinstance(self.task, Classification):
            check_known(reading, self.task.labels, "the model does not have", do="mend it, or --rename 1=positive")
        answers = self.many(reading.examples, report=report)
        for number, answer in enumerate(answers):
            if isinstance(answer, Refused):
                place = reading.places[number] if reading.places else f"example {number + 1}"
                raise InputError(f"{place}, which cannot be answered: {answer.error}", do="mend or remove it")
        return self.task.scores(reading.examples, answers)


def _question(question: str, context: str | None = None) -> QuestionExample:
    if context is None:
        raise InputError("a question alone", wanted="a question and the text that may answer it")
    return QuestionExample(question, context)


def _choice(*_: str) -> Any:
    raise InputError("a text alone", wanted="a context with its endings", do="give them in a file with --input")


EXAMPLES = (TextExample, TaggedExample, QuestionExample, ChoiceExample)
FROM_TEXTS: dict[str, Callable[..., Any]] = {"tag": untagged, "answer": _question, "choose": _choice}
