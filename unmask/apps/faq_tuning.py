"""An encoder tuned on the FAQ that it serves: entries and a model in, an FAQ with an encoder of its own out.

Ways to ask for one entry are drawn together; they are told from those of the other entries in the step and from the
entry that the untuned encoder most easily takes for it, a hard negative. An entry that can be asked for in one way only
is drawn to its answer. Some paraphrases are held out: they decide whether tuning helped, how much words count beside
vectors, and the threshold.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps.app_folder import read_app
from unmask.apps.faq import Faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import NOTHING, FaqIndex
from unmask.apps.faq_measures import FaqScores, Flags
from unmask.apps.reranking import Reranker
from unmask.apps.vectors import TextVectors
from unmask.data.chance import generator
from unmask.data.examples import TextExample
from unmask.errors import InputError
from unmask.files import write_text
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request

ENCODER, PAIRS = "encoder", "pairs"  # folders within the FAQ's
HELD_OUT = 0.2  # of the paraphrases
LONGEST = 64  # pieces of a lesson: the beginning of an answer says what it is about (record faq of 2026-11-17)
FEWEST = 8  # entries that can be told apart
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # of words, to choose from

Train = Callable[[FineTuningRun], Outcome]


@dataclass(frozen=True)
class TuningRequest:
    """What a user asks for."""

    entries: tuple[Entry, ...]
    model: str
    folder: Path
    reranker: Reranker | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the fine-tuning's settings
    steps: int | None = None  # in place of epochs
    device: str = "cpu"
    threads: int | None = None


@dataclass(frozen=True)
class Tuned:
    """What came of it."""

    faq: Faq
    before: FaqScores | None  # on the paraphrases held out; none where there are none
    after: FaqScores | None
    kept: str  # which encoder the FAQ has: tuned or start
    steps: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """What came of it as JSON has it."""
        told = {"before": self.before and self.before.to_dict(), "after": self.after and self.after.to_dict()}
        return {"kept": self.kept, **told, "steps": self.steps, "seconds": self.seconds}


@dataclass(frozen=True)
class HeldOut:
    """Entries without some of their paraphrases, and those as questions."""

    entries: tuple[Entry, ...]
    questions: tuple[str, ...]
    owners: tuple[int, ...]  # the entry of each question

    @property
    def right(self) -> Flags:
        """Which entry is right for each question."""  # (Q, entries)
        owners = np.array(self.owners, np.int64)
        return np.equal(np.arange(len(self.entries)), owners[:, None])


def tune(
    request: TuningRequest,
    *,
    train: Train = FineTuningRun.train,
    note: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """Tunes an encoder and builds the FAQ with it; asked again after an interruption, it goes on where it was."""
    if len(request.entries) < FEWEST:
        raise InputError(f"an FAQ of {len(request.entries)} answers", wanted=f"at least {FEWEST} to tune an encoder on")
    start = TextVectors(request.model, device=request.device, threads=request.threads)
    if read_app(request.folder, "faq") is None:  # from now on there is an FAQ that answers, tuned or not
        Faq.of(FaqIndex.of(request.entries, start), request.reranker).save(request.folder)
    held = hold_out(request.entries, seed=request.changes.get("seed", 0))
    before = _measured(FaqIndex.of(held.entries, start), held, request.reranker)
    outcome = train(_run(request, held, before.index, note))
    encoder = TextVectors(request.folder / ENCODER, device=request.device, threads=request.threads)
    after = _measured(FaqIndex.of(held.entries, encoder), held, request.reranker)
    better = _worth(after) >= _worth(before)
    if not held.questions:
        note("no paraphrases to hold out: nothing tells whether tuning helped")
    faq = _whole(request, after if better else before, encoder if better else start)
    first, second = (measured.scores if held.questions else None for measured in (before, after))
    tuned = Tuned(faq, first, second, "tuned" if better else "start", outcome.steps, outcome.seconds)
    replace(faq, notes={"tuning": tuned.to_dict()}).save(request.folder)
    return tuned


def hold_out(entries: Sequence[Entry], *, seed: int = 0) -> HeldOut:
    """Takes a fifth of all paraphrases out, drawn by chance, to ask with.

    >>> held = hold_out([Entry("Free?", "Yes.", ("Costs?", "Price?", "To pay?", "Dear?", "Cheap?"))])
    >>> len(held.questions), len(held.entries[0].paraphrases)
    (1, 4)
    """
    places = [(number, way) for number, entry in enumerate(entries) for way in range(len(entry.paraphrases))]
    chosen = generator(seed).permutation(len(places))[: round(HELD_OUT * len(places))]
    aside = {places[place] for place in chosen}
    kept = [
        replace(entry, paraphrases=tuple(p for way, p in enumerate(entry.paraphrases) if (number, way) not in aside))
        for number, entry in enumerate(entries)
    ]
    asked = sorted(aside)
    questions = tuple(entries[number].paraphrases[way] for number, way in asked)
    return HeldOut(tuple(kept), questions, tuple(number for number, _ in asked))


def lessons(index: FaqIndex) -> list[TextExample]:
    """Pairs that belong together, each with the wrong entry that is nearest to its text."""
    entries = index.entries
    told = [(number, way) for number, entry in enumerate(entries) for way in entry.paraphrases or (entry.question,)]
    owners = [number for number, _ in told]
    scores = index.by_entry(index.scores([way for _, way in told]))
    scores[np.arange(len(owners)), owners] = NOTHING
    nearest = scores.argmax(1).tolist()
    return [lesson(way, entries[owner], entries[near]) for (owner, way), near in zip(told, nearest, strict=True)]


def lesson(text: str, own: Entry, wrong: Entry) -> TextExample:
    """A text drawn to its entry's question, or where it is that question itself to the answer.

    Never to another paraphrase: two lessons of one entry in a step have the same partner, which is how the task knows
    that they are not to be told from one another.

    >>> lesson("Costs?", Entry("Free?", "Yes.", ("Costs?",)), Entry("Where?", "Here."))
    TextExample(text='Costs?', pair='Free?', label=None, id='', negative='Where?')
    """
    if own.paraphrases:
        return TextExample(text, own.question, negative=wrong.question)
    return TextExample(text, own.answer, negative=wrong.answer)


def _run(request: TuningRequest, held: HeldOut, index: FaqIndex, note: Callable[[str], None]) -> FineTuningRun:
    pairs = request.folder / PAIRS
    learned = lessons(index)
    asked = [
        TextExample(question, held.entries[owner].question)
        for question, owner in zip(held.questions, held.owners, strict=True)
    ]
    _write_pairs(pairs / "train.jsonl", learned)
    if asked:
        _write_pairs(pairs / "dev.jsonl", asked)
    changes = dict(request.changes)
    if request.steps is not None:
        steps_an_epoch = -(-len(learned) // changes.get("batch_size", 32))
        changes["epochs"] = request.steps / steps_an_epoch
    return FineTuningRun(
        Request(
            task="embed",
            model=request.model,
            train=pairs / "train.jsonl",
            dev=pairs / "dev.jsonl" if asked else None,
            folder=request.folder / ENCODER,
            changes=changes,
            options={"longest": min(LONGEST, index.space.encoder.embedding.task.longest)},
            device=request.device,
        ),
        note,
    )


def _write_pairs(path: Path, examples: Sequence[TextExample]) -> None:
    rows = [{"text_a": one.text, "text_b": one.pair, "text_c": one.negative} for one in examples]
    told = [{name: text for name, text in row.items() if text is not None} for row in rows]
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in told))


def _measured(index: FaqIndex, held: HeldOut, reranker: Reranker | None) -> Faq:
    """The FAQ with the weight of words and the threshold that are best for the questions held out."""
    if not held.questions:
        return Faq.of(index, reranker)
    vectors = index.space(held.questions)
    weights = WEIGHTS if reranker is None else (index.words,)
    tried = [Faq(index.weighing(words), 0.0, reranker) for words in weights]
    judged = [faq.judge(held.questions, held.right, vectors) for faq in tried]
    best = int(np.argmax([np.mean(1 / (1 + one.ranks)) for one in judged]))
    return tried[best].judged_by(judged[best])


def _worth(faq: Faq) -> float:
    """Finding what is there, and knowing what is not, count alike."""
    assert faq.scores is not None
    return faq.scores.mrr + (faq.scores.auroc or 0.0)


def _whole(request: TuningRequest, chosen: Faq, encoder: TextVectors) -> Faq:
    """The chosen FAQ with all paraphrases, those that were held out too."""
    index = FaqIndex.of(request.entries, encoder, words=chosen.index.words)
    if chosen.scores is None or not chosen.scores.questions:
        return Faq.of(index, request.reranker)
    return replace(chosen, index=index)
