"""Where the rows of an experiment are made: one corpus for all, pretrainings in equal time, fine-tunings on one task.

Every training has a folder of its own and takes itself up where it was. In: what was asked for, and who watches. Out:
what each training reached.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from unmask.errors import InputError
from unmask.lab.experiment import Asked, Number, Row
from unmask.model.folder import open_model
from unmask.model.heads import BertWithHead
from unmask.tasks.corpus import Corpus, find_tokenizer, hold_out, open_corpus
from unmask.tasks.finetuning_run import FineTuningRun
from unmask.tasks.finetuning_run import Request as FineTuningRequest
from unmask.tasks.objectives import Learner
from unmask.tasks.pretraining import PretrainingSettings, examination, examine
from unmask.tasks.pretraining_run import PretrainingRun, Request
from unmask.training.journal import Journal

HELD_OUT = (0.02, 0.1, 0.3)  # shares of the documents to measure on: the first that gives enough of them
SHORTEST = 5.0  # seconds that each pretraining needs, most of which go into measuring the machine
TOLD = (
    *("size", "objective", "optimiser", "learning_rate", "batch_tokens", "lengths", "mask_rate", "mask_mix"),
    *("held_out", "counted_start", "seed"),
)  # settings of a pretraining that a row names

OnStep = Callable[[int, int, Mapping[str, str]], None]  # steps done, steps in all, figures
Show = Callable[[str], AbstractContextManager[OnStep]]


@contextmanager
def unseen(title: str) -> Iterator[OnStep]:
    """Shows nothing."""
    del title
    yield lambda *_: None


@dataclass(frozen=True)
class Trained:
    """What a pretraining reached."""

    folder: Path
    settings: Mapping[str, Any]
    figures: Mapping[str, Number]
    seconds: float
    steps: int
    tokens: int

    def row(self, name: str, figures: Mapping[str, Number], **settings: Any) -> Row:
        """The line of a table that it is."""
        return Row(name, {**self.settings, **settings}, figures, self.seconds, self.steps, self.tokens)


@dataclass(frozen=True)
class Tuned:
    """What a model learned of the task, whether it or only a reader of it was trained."""

    score: float
    settings: Mapping[str, Any]
    seconds: float
    steps: int
    tokens: int


@dataclass(frozen=True)
class Workbench:
    """Everything that the rows of an experiment have in common."""

    asked: Asked
    share: float | None = None  # seconds of each pretraining
    note: Callable[[str], None] = lambda _: None
    show: Show = unseen
    stop: Callable[[], bool] = lambda: False

    @cached_property
    def corpus(self) -> Corpus:
        """The text, tokenised once for all rows, with the documents that are held out."""
        asked = self.asked

        def tokenizer(paths: Any) -> Any:
            return find_tokenizer(
                paths,
                vocabulary=asked.vocabulary,
                size=asked.vocabulary_size,
                cased=False,
                learned=asked.folder / "vocab.txt",
            )

        self.note("the text is tokenised, once for all rows")
        corpus = open_corpus(asked.text, asked.folder / "store", tokenizer)
        training, kept = hold_out(corpus.store.document_count, held_out_share(corpus.store.document_count))
        return replace(corpus, training=training, held_out=kept)

    def changes(self, **changes: Any) -> dict[str, Any]:
        """Settings of a pretraining that differ from the preset's."""
        asked = self.asked
        common = {"lengths": (asked.length,), "held_out": held_out_share(self.corpus.store.document_count)}
        given = {"steps": asked.steps, "batch_tokens": asked.batch_tokens, "seed": asked.seed}
        return {**common, **{name: value for name, value in given.items() if value is not None}, **changes}

    def pretrain(self, name: str, *, size: str | None = None, **changes: Any) -> Trained:
        """A BERT (or, left to right, a GPT) on the common text, for its share of the time."""
        request = Request(
            paths=[self.corpus.store.folder],
            folder=self.asked.folder / "pretrained" / name,
            size=size or self.asked.size,
            changes=self.changes(**changes),
            budget=self.share,
            save_every=self.asked.save_every,
        )
        with self.show(f"pretraining {name}") as told:
            run = PretrainingRun(request, self.note)
            outcome = run.finish(
                lambda at: told(at.step.number, at.pace.steps, {"loss": f"{at.step.loss:.3f}"}), self.stop
            )
        settings = {name: getattr(run.settings, name) for name in TOLD} | {"parameters": run.config.parameters}
        figures = {
            "mlm_loss": outcome.mlm_loss,
            "mlm_accuracy": outcome.mlm_accuracy,
            "nsp_accuracy": outcome.nsp_accuracy,
            "clm_loss": outcome.loss if run.settings.objective == "clm" else None,
        }
        cost = outcome.seconds, outcome.steps, outcome.tokens
        return Trained(request.folder, settings, figures, *cost)

    def examined(self, trained: Trained) -> dict[str, float]:
        """A pretrained model's figures on questions of the usual mix, whichever it learned by; none without text."""
        corpus = self.corpus
        if not len(corpus.held_out):
            return {}
        usual = PretrainingSettings(objective=trained.settings["objective"], lengths=(self.asked.length,))
        model = open_model(trained.folder).model
        assert isinstance(model, BertWithHead)
        questions = examination(corpus.store, corpus.held_out, corpus.tokenizer, usual)
        return examine(Learner(model, usual.objective), questions)

    @property
    def is_labelled(self) -> bool:
        """Whether there is a task to measure on."""
        return bool(self.asked.train)

    def tuning_request(self, name: str, model: str, **changes: Any) -> FineTuningRequest:
        """The fine-tuning of a model on the common task."""
        asked = self.asked
        given = {"epochs": asked.epochs, "batch_size": asked.batch_size, "seed": asked.seed}
        return FineTuningRequest(
            task=asked.task,
            model=model,
            train=asked.train,
            folder=asked.folder / "tuned" / name,
            dev=asked.dev,
            most=asked.most,
            columns=asked.columns,
            changes={**given, **changes},
            save_every=asked.save_every,
        )

    def tune(self, name: str, model: Path | str, **changes: Any) -> Tuned | None:
        """How well a model learns the common task; none if there is no task."""
        if not self.is_labelled:
            return None
        run = FineTuningRun(self.tuning_request(name, str(model), **changes), self.note)
        with self.show(f"fine-tuning {name}") as told:
            outcome = run.train(lambda at: told(at.step.number, at.steps, {"loss": f"{at.step.loss:.3f}"}), self.stop)
        settings = run.settings
        told_settings = {
            "metric": outcome.metric,
            "epochs": settings.epochs,
            "task_learning_rate": settings.learning_rate,
        }
        told_settings |= {"examples": outcome.examples, "dev_examples": outcome.dev_examples}
        tokens = tokens_read(run.request.folder)
        return Tuned(outcome.score, told_settings, outcome.seconds, outcome.steps, tokens)


def score_of(tuned: Tuned | None) -> Number:
    """The score of a task, if there was one.

    >>> score_of(None) is None
    True
    """
    return None if tuned is None else tuned.score


def tuned_settings(*tuned: Tuned | None) -> dict[str, Any]:
    """What a row says of the first of its fine-tunings.

    >>> tuned_settings(None)
    {}
    """
    return next((dict(found.settings) for found in tuned if found is not None), {})


def tokens_read(folder: Path) -> int:
    """How many pieces a training has read, by its journal."""
    return sum(event["tokens"] for event in Journal(folder / "run.jsonl").events())


def held_out_share(documents: int) -> float:
    """The share of documents that is held out: the usual one, or more where that would be too few to measure on.

    >>> [held_out_share(documents) for documents in (10_000, 50, 3)]
    [0.02, 0.3, 0.0]
    """
    enough = (share for share in HELD_OUT if len(hold_out(documents, share)[1]))
    return next(enough, 0.0)


def share_of(asked: Asked, trainings: int) -> float | None:
    """Seconds of each pretraining, all having the same.

    >>> share_of(Asked("masking", Path("out"), budget=600.0), 6)
    100.0
    """
    if asked.budget is None:
        return None
    share = asked.budget / trainings
    if share < SHORTEST:
        got = f"--budget of {asked.budget:.0f} s for {trainings} pretrainings, {share:.1f} s each"
        raise InputError(got, wanted=f"{SHORTEST:.0f} s each or more", do="give more time, or --steps")
    return share
