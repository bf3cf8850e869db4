"""A pretraining from request to model folder: the text is prepared, the run begun or resumed, followed, and saved.

In: what was asked for (`Request`). Out: the folder of a BERT with its curve and card, and what was reached (`Outcome`).
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from unmask.data.neighbours import count_neighbours, some_tokens
from unmask.data.store import DESCRIPTION
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.config import BertConfig
from unmask.model.counted_start import CountedStart, counted_start
from unmask.model.folder import save_model
from unmask.model.heads import BertWithHead
from unmask.tasks.corpus import Corpus, OnProgress, find_tokenizer, open_corpus
from unmask.tasks.objectives import check_objective, words_head
from unmask.tasks.parts import tokens_that_fit, worth_taking
from unmask.tasks.pretraining import (
    PRESETS,
    Batches,
    Pretraining,
    PretrainingSettings,
    Standing,
    begin,
    configure,
    examination,
    examine,
    new_learner,
    preset_for,
    seconds_a_step,
    steps_in,
    unigram_loss,
)
from unmask.tasks.showing import Example, show
from unmask.tasks.sizing import choose_size
from unmask.tasks.starting import CONTINUED_LEARNING_RATE, FRESH, Start, find_start, in_words
from unmask.training import checkpoint, curve
from unmask.training.distributed import ALONE, Processes, whole
from unmask.training.half_precision import settled_precision
from unmask.training.loop import Part
from unmask.training.memory import free_bytes
from unmask.training.run import CHECKPOINTS
from unmask.training.same_settings import SETTINGS, check_same_settings

Note = Callable[[str], None]
AUTO = "auto"  # the size that the budget and this machine allow
TRIED = 0.5  # seconds of steps that each size is measured for
MOST_COUNTED = 1 << 24  # tokens whose neighbours a fresh model starts from: more change its words no further
COUNTED_A_SECOND, COUNTING = 500_000, 0.05  # how fast that goes at the least, and its share of a budget
ENDING = 0.01  # share of a budget left for saving, beside the ending that is tried out before the first step


@dataclass(frozen=True)
class Request:
    """What a user asks for."""

    paths: list[Path]  # text files or folders, or one store
    folder: Path  # where the run lives
    size: str | None = None  # a named size, or auto: by the budget; none: that of `from_model`, or mini
    preset: str = "cpu"
    changes: dict[str, Any] = field(default_factory=dict)  # settings that differ from the preset
    budget: float | None = None  # seconds
    vocabulary: Path | None = None
    vocabulary_size: int | None = None
    cased: bool = False
    column: str | None = None
    init_vectors: Path | None = None  # word vectors that the word embeddings start from
    from_model: str | None = None  # a model to go on from, with its size, and its vocabulary unless one is given
    additions: str | None = None  # to that vocabulary: a file of words, or how many of the text's best
    layers: int | None = None  # that it gets, where it has fewer
    general: Path | None = None  # text to measure on, before and after, what such a model forgets
    save_every: float = 60.0
    device: str = "cpu"
    shard: bool = False  # the weights are divided among the processes


@dataclass(frozen=True)
class Outcome:
    """What a run reached; losses in nats, on held-out text where there is some."""

    folder: str
    steps: int
    tokens: int
    seconds: float
    tokens_per_second: float
    loss: float
    mlm_loss: float | None
    mlm_accuracy: float | None
    nsp_accuracy: float | None
    unigram_loss: float
    before: dict[str, float] | None = None  # losses of a model that was gone on from, by kind of text: domain, general
    after: dict[str, float] | None = None
    examples: tuple[Example, ...] = ()  # of words hidden in held-out sentences and what the model says

    def to_dict(self) -> dict[str, Any]:
        """The fields of the verb's JSON; before and after only where there was a before."""
        fields = asdict(self)
        return fields if self.before is not None else {n: v for n, v in fields.items() if n not in ("before", "after")}


class PretrainingRun:
    """A request on its way: the corpus open, the model made, an earlier sitting taken up."""

    def __init__(
        self,
        request: Request,
        note: Note = lambda _: None,
        on_reading: OnProgress | None = None,
        processes: Processes = ALONE,
        *,
        waited: float = 0.0,
    ) -> None:
        """`waited` is how much of a budget was spent before, such as on loading torch."""
        self.request, self.processes, self.started = request, processes, time.monotonic() - waited
        self.ending = 0.0  # what is to be done after the last step, in steps
        settings = settings_of(request)
        check_device(request.device)
        with processes.first_alone():
            start = find_start(
                request.paths,
                vectors=request.init_vectors,
                model=request.from_model,
                additions=request.additions,
                other_pieces=request.vocabulary is not None or request.vocabulary_size is not None,
                layers=request.layers,
                folder=request.folder,
                column=request.column,
            )
            self.corpus = _corpus(request, settings, on_reading, start, processes)
        # by the first process, which draws it; before the training, so that a large text does not delay the end
        self.unigram_loss = 0.0 if processes.rank else unigram_loss(self.corpus.store, self.corpus.tokenizer.size)
        if settings.size == AUTO:
            settings = replace(settings, size=self._size_for_the_budget(settings, note))
        self.config = start.shape(
            configure(settings.size, self.corpus.tokenizer, settings), longest=max(settings.lengths)
        )
        settings = replace(
            settings,
            size=settings.size if start.model is None else f"{self.config.layers} layers of {self.config.width}",
            vocabulary=self.corpus.tokenizer.vocabulary_hash,
            text=_text_hash(self.corpus),
            start=start.name,
        )
        self.settings = self._paced(self._parted(settings))
        check_same_settings(request.folder, self.settings)
        self.pretraining = self._made(self.settings, start, self._counted(self.settings, start))
        with processes.first_alone():
            self.questions = self._questions() if start.model is not None else {}
        self.before = self._losses()
        if processes.rank == 0:
            begin(request.folder, self.settings)
        self.pretraining.resume(note)
        if not self.pretraining.run.step:
            for line in in_words(self.began, start.added):
                note(line)
        else:
            note(f"going on from step {self.pretraining.run.step:,} of {self.pretraining.pace.steps:,}")

    def finish(self, watch: Callable[[Standing], None], stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Takes the steps that are left, then draws the curve and saves the model."""
        deadline = None
        if self.request.budget is not None:
            waited = time.monotonic() - self.started  # for reading and measuring: part of the budget
            deadline = self.request.budget * (1 - ENDING) - (waited if self.pretraining.run.step == 0 else 0)
        for standing in self.pretraining.steps(deadline=deadline, ending=self.ending, stop=stop):
            watch(standing)
        model, after = self._whole_model(), self._losses()
        outcome = self.processes.agree(self._end(model, after) if self.processes.rank == 0 else None)
        assert outcome is not None
        return outcome

    def _counted(self, settings: PretrainingSettings, start: Start) -> CountedStart | None:
        """What counting the text gives a fresh model or new pieces to begin with; the first process counts for all."""
        if not settings.counted_start or not (start is FRESH or start.other_pieces):
            return None
        return self.processes.agree(None if self.processes.rank else self._count(settings, start))

    def _count(self, settings: PretrainingSettings, start: Start) -> CountedStart | None:
        begun = checkpoint.latest(self.request.folder / CHECKPOINTS) is not None
        if begun and start is FRESH:  # what it began with has been learned on; of a model it is told what it was before
            return None
        corpus, most = self.corpus, tokens_to_count(self.request.budget)
        found = count_neighbours(some_tokens(corpus.store, corpus.training, most), corpus.tokenizer.size)
        return counted_start(found, self.config.width, settings.seed)

    def _made(
        self, settings: PretrainingSettings, start: Start = FRESH, counted: CountedStart | None = None
    ) -> Pretraining:
        corpus, processes = self.corpus, self.processes
        learner = new_learner(self.config, settings)
        if counted is not None:
            counted.set_weights(learner.model.bert, words_head(learner.model.head))
        learner.to(self.request.device)
        self.began = start.set_weights(learner, corpus.tokenizer, settings.seed, counted)
        batches = Batches(
            corpus.store, corpus.training, corpus.tokenizer, settings, words=corpus.words, processes=processes
        )
        questions = []
        if len(corpus.held_out):
            questions = examination(corpus.store, corpus.held_out, corpus.tokenizer, settings, corpus.words)
        return Pretraining(
            self.request.folder,
            learner,
            batches,
            questions,
            settings,
            save_every=self.request.save_every,
            processes=processes,
            shard=self.request.shard,
        )

    def _questions(self) -> dict[str, list[Part]]:
        """What a model that was gone on from is measured on: held-out documents, and general text if there is some."""
        questions = {"domain": self.pretraining.examination} if self.pretraining.examination else {}
        if self.request.general is not None:
            tokenizer, folder = self.corpus.tokenizer, self.request.folder / "general"
            general = open_corpus([self.request.general], folder, lambda _: tokenizer, words=self.settings.words)
            found = examination(general.store, general.training, tokenizer, self.settings, general.words)
            questions["general"] = found
        return questions

    def _losses(self) -> dict[str, float]:
        """The masked-word loss (left to right: the next-word loss) on each kind of text."""
        name = f"{self.settings.objective.split('+')[0]}_loss"
        return {kind: examine(self.pretraining.learner, parts)[name] for kind, parts in self.questions.items()}

    def _size_for_the_budget(self, settings: PretrainingSettings, note: Note) -> str:
        """The size that this machine's speed allows; a run begun earlier keeps its own."""
        saved = self.request.folder / SETTINGS
        if saved.exists():
            return PretrainingSettings.from_json(saved.read_text(encoding="utf-8")).size

        def shape(size: str) -> BertConfig:
            return configure(size, self.corpus.tokenizer, settings)

        def pieces_a_second(size: str) -> float:
            self.config = shape(size)
            each = seconds_a_step(self._made(self._parted(settings)), at_least=TRIED)
            return settings.batch_tokens / each

        choice = choose_size(self._left(), pieces_a_second, shape, self.processes.agree(free_bytes()))
        note(choice.in_words())
        return choice.size

    def _parted(self, settings: PretrainingSettings) -> PretrainingSettings:
        """As much at once as free memory allows, unless given; a run begun earlier keeps its number, to be exact."""
        saved = self.request.folder / SETTINGS
        if "part_tokens" in self.request.changes:
            return settings
        if saved.exists():
            before = PretrainingSettings.from_json(saved.read_text(encoding="utf-8"))
            return replace(settings, part_tokens=before.part_tokens)
        free = worth_taking(self.config, free_bytes()) if self.request.device == "cpu" else free_bytes()
        fitting = tokens_that_fit(self.config, free, length=max(settings.lengths))
        return replace(settings, part_tokens=self.processes.agree(min(fitting, settings.batch_tokens)))

    def _paced(self, settings: PretrainingSettings) -> PretrainingSettings:
        """With a budget, as many steps as fit into what is left of it; a run begun earlier keeps its number."""
        saved = self.request.folder / SETTINGS
        if self.request.budget is None:
            return settings
        if saved.exists():
            return replace(settings, steps=PretrainingSettings.from_json(saved.read_text(encoding="utf-8")).steps)
        trial = self._made(settings)
        each = seconds_a_step(trial)
        ending = self._try_the_ending(trial)
        self.ending = ending / each
        return replace(settings, steps=steps_in(self._left() - ending, each))

    def _left(self) -> float:
        """Seconds of the budget that are left."""
        assert self.request.budget is not None
        return self.processes.agree(self.request.budget * (1 - ENDING) - (time.monotonic() - self.started))

    def _try_the_ending(self, trial: Pretraining) -> float:
        """How long the end will take: the last figures, the curve; saving and leaving take about as long again."""
        with TemporaryDirectory() as folder:
            picture, lines = Path(folder) / "curve.png", {"training": ((0, 1), (1.0, 0.0))}
            draw_curve(picture, lines, 0.0)  # the first time loads the library
            started = time.monotonic()
            if trial.examination:
                examine(trial.learner, trial.examination)
            draw_curve(picture, lines, 0.0)
        return 2 * (time.monotonic() - started)

    def _whole_model(self) -> BertWithHead:
        """The model with all its weights; every process takes part, as each may hold a share of them."""
        held = self.pretraining.learner.model
        assert isinstance(held, BertWithHead)
        if not self.request.shard:
            return held
        model = new_learner(self.config, self.settings).model
        model.load_state_dict({name: whole(value) for name, value in held.state_dict().items()})
        return model

    def _end(self, model: BertWithHead, after: dict[str, float]) -> Outcome:
        run = self.pretraining.run
        events = list(run.journal.events())
        figures = final_figures(events)
        outcome = Outcome(
            folder=str(run.folder),
            steps=run.step,
            tokens=sum(event["tokens"] for event in events),
            seconds=round(run.spent, 3),
            tokens_per_second=round(sum(event["tokens"] for event in events) / run.spent, 1),
            loss=figures["loss"],
            mlm_loss=figures.get("mlm_loss"),
            mlm_accuracy=figures.get("mlm_accuracy"),
            nsp_accuracy=figures.get("nsp_accuracy"),
            unigram_loss=self.unigram_loss,
            before=self.before or None,
            after=after or None,
            examples=self._examples(model),
        )
        lines = curve.curves(events, f"{self.settings.objective.split('+')[0]}_loss")
        draw_curve(run.folder / "curve.png", lines, self.unigram_loss)
        self._save(model, outcome)
        return outcome

    def _examples(self, model: BertWithHead) -> tuple[Example, ...]:
        """A few masks filled; a model that reads left to right fills none."""
        if self.settings.objective == "clm":
            return ()
        return show(model, self.corpus.store, self.corpus.held_out, self.corpus.tokenizer)

    def _save(self, model: BertWithHead, outcome: Outcome) -> None:
        head = "pretraining" if hasattr(model.head, "next") else "masked_words"
        measured = ("loss", "accuracy", "before", "after")
        scores = {name: value for name, value in outcome.to_dict().items() if name.endswith(measured)}
        texts = [text["name"] for text in self.corpus.store.description["texts"]]
        provenance = {
            "texts": texts,
            "tokens": outcome.tokens,
            **({"tokens_in_all": self.began["tokens"] + outcome.tokens} if "tokens" in self.began else {}),
            "settings": {**asdict(self.settings), "steps": outcome.steps},  # a budget's were an estimate at first
            **({"start": self.began} if self.began else {}),
            "torch": torch.__version__,
        }
        about = About(head=head, task="pretraining", scores=scores, provenance=provenance)
        save_model(self.request.folder, self.config, model, self.corpus.tokenizer, about)


def settings_of(request: Request) -> PretrainingSettings:
    """The preset with the user's changes, checked."""
    if request.preset not in PRESETS:
        raise InputError(f"preset {request.preset!r}", wanted=" or ".join(PRESETS), do="choose one with --preset")
    continued = {"learning_rate": CONTINUED_LEARNING_RATE} if request.from_model else {}
    made = preset_for(request.preset, request.budget)
    preset = {**made, **continued, "size": request.size or PretrainingSettings.size}
    settings = PretrainingSettings(**{**preset, **request.changes})
    check_objective(settings.objective)
    _check_size(request, settings.size)
    if request.general and not request.from_model:
        raise InputError("--general without --from", wanted="a model that may forget", do="leave it out")
    settings = replace(settings, precision=settled_precision(settings.precision, request.device))
    if len(settings.lengths) != len(settings.phases):
        raise InputError(
            f"{len(settings.lengths)} lengths and {len(settings.phases)} phases",
            wanted="as many of each",
            do="give both, such as --length 128,512 --phases 90,10",
        )
    return settings


def tokens_to_count(budget: float | None) -> int:
    """How many tokens a fresh model's start is counted from, so that it takes a small part of a budget.

    >>> tokens_to_count(None), tokens_to_count(60.0)
    (16777216, 1500000)
    """
    return MOST_COUNTED if budget is None else min(MOST_COUNTED, int(budget * COUNTING * COUNTED_A_SECOND))


def _check_size(request: Request, size: str) -> None:
    """Refuses, before any text is read, a size that does not exist or has nothing to be chosen by."""
    if request.from_model and request.size:
        do = "leave --size out"
        raise InputError(f"--size {request.size} with --from", wanted="the size of the model", do=do)
    if size != AUTO:
        BertConfig.named(size)
    elif request.budget is None or "steps" in request.changes:
        raise InputError("--size auto without a budget", wanted="a time to choose by", do="give --budget, not --steps")


def check_device(device: str) -> None:
    """Refuses a device that this machine does not have."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device!r}: {reason}", wanted="cpu, or a device that is here") from None


def draw_curve(path: Path, lines: Mapping[str, curve.Curve], unigrams: float) -> None:
    """The run's curve, with the line that a model which has only learned frequencies sits on."""
    curve.draw(path, lines, label="masked-word loss (nats)", levels={"unigram entropy": unigrams})


def final_figures(events: list[dict[str, Any]]) -> dict[str, float]:
    """The last held-out figures; without held-out text, the means over the last twentieth of the training."""
    held_out = [event["held_out"] for event in events if "held_out" in event]
    if held_out:
        found = dict(held_out[-1])
        return {"loss": sum(value for name, value in found.items() if name.endswith("_loss")), **found}
    last = events[-max(1, len(events) // 20) :]
    names = [name for name in last[-1] if name.endswith(("loss", "accuracy"))]
    return {name: float(np.mean([event[name] for event in last])) for name in names}


def _corpus(
    request: Request,
    settings: PretrainingSettings,
    on_reading: OnProgress | None,
    start: Start,
    processes: Processes,
) -> Corpus:
    """The text of a run; what the first process has prepared the others only open."""

    def tokenizer(paths: Any) -> Any:
        return start.vocabulary or find_tokenizer(
            paths,
            vocabulary=request.vocabulary,
            size=request.vocabulary_size,
            cased=request.cased,
            learned=request.folder / "learned-vocab.txt",
            column=request.column,
        )

    prepared = request.folder / "store"
    corpus = open_corpus(
        [prepared] if processes.rank and (prepared / DESCRIPTION).is_file() else request.paths,
        prepared,
        tokenizer,
        held_out=settings.held_out,
        words=settings.words,
        column=request.column,
        on_progress=on_reading,
    )
    if start.vocabulary and corpus.tokenizer.vocabulary_hash != start.vocabulary.vocabulary_hash:
        wanted = f"one of the vocabulary of {start.source}{' with its additions' * bool(start.added)}"
        raise InputError(f"{corpus.store.folder}, a store of another vocabulary", wanted=wanted, do="give the text")
    return corpus


def _text_hash(corpus: Corpus) -> str:
    return hashlib.sha256((corpus.store.folder / DESCRIPTION).read_bytes()).hexdigest()
