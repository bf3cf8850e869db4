"""How many examples a second fine-tuning and prediction take in, in turns with plain transformers loops.

Classification has the lengths of SST-2, answering those of SQuAD. All sides start from the same weights and go through
the same examples in every round: ours by `FineTuning`, theirs as their Trainer does, padded to the batch, in random
order or grouped by length. Predictions are asked for in the order of the file.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unmask.data.examples import GivenAnswer, QuestionExample, TextExample
from unmask.data.rows import Row
from unmask.errors import InputError
from unmask.lab.bench_pretrain import their_learning
from unmask.lab.sides import Side, Work, in_turns
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.named import find_model
from unmask.model.names import POOLED_HEADS, to_published
from unmask.model.outputs import outputs_of
from unmask.model.starting_point import with_fresh_head
from unmask.tasks.answering import Answering
from unmask.tasks.classification import Classification
from unmask.tasks.finetuning import FineTuning, FineTuningSettings
from unmask.tasks.preset_files import find_files, read_files
from unmask.tasks.presets import PRESETS
from unmask.tasks.task import Task
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer
from unmask.training.half_precision import PRECISIONS
from unmask.training.memory import HUGE_PAGES

Examples = Sequence[TextExample] | Sequence[QuestionExample]
TRAINING, PREDICTION, LOWER_PREDICTION = "training", "prediction", "prediction_lower"  # works

MINILM = BertConfig(width=384, layers=6, heads=12, feed_forward=1536)
DROPOUT, LEARNING_RATE = 0.1, 5e-5
PIECES = 30_522
MOST_OTHERS = 20_000  # examples that are not learned from, only their pieces are held
NEVER = 1e-9  # evaluations an epoch
COMMON = ("the", "of", "and", "a", "to", "in", "is", "it", "that", "was", "for", "on", "are", "with", "his", "they")

# pieces of SST-2's training texts and of SQuAD's questions and contexts: minimum, tenths, maximum
TEXTS = (1, 2, 4, 5, 6, 8, 11, 14, 18, 25, 64)
QUESTIONS = (4, 8, 9, 10, 11, 12, 13, 14, 15, 18, 35)
CONTEXTS = (27, 91, 108, 118, 130, 142, 157, 173, 197, 237, 853)


@dataclass(frozen=True)
class Kind:
    """A task to measure with."""

    preset: str  # the data set
    batch_size: int
    examples: int  # in a round
    make: Callable[[int], Examples]  # made-up examples of the same lengths
    task: Callable[[Any], Task]


@dataclass(frozen=True)
class Trial:
    """The same start for all sides."""

    task: Task
    tokenizer: Tokenizer
    config: BertConfig
    model: BertWithHead
    examples: Examples  # in the order of their file
    rows: list[Row]
    batch_size: int
    others: Examples = ()  # of the same set, whose pieces a fine-tuning on all of it would hold as well


@dataclass(frozen=True)
class Rounds:
    """Examples a second, round by round."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...] = ()  # in random order; in prediction, in the order of the file
    bucketed: tuple[float, ...] = ()  # grouped by length

    def to_dict(self) -> dict[str, Any]:
        """Medians, ratios (ours / theirs) and every round.

        >>> Rounds((6.0, 8.0, 7.0), (2.0, 2.0, 2.0), (4.0, 4.0, 4.0)).to_dict()["bucketed_ratio"]
        1.75
        """
        fields: dict[str, Any] = {name: median(values) if values else None for name, values in asdict(self).items()}
        for name, rival in (("ratio", self.theirs), ("bucketed_ratio", self.bucketed)):
            fields[name] = median(o / t for o, t in zip(self.ours, rival, strict=True)) if rival else None
        return fields | {"rounds": asdict(self)}


def make_trial(kind: str, data: Path | None = None, model: str | None = None, *, seed: int = 0) -> Trial:
    """Examples of a set's folder or made-up ones, and a model: a named one, or of MiniLM's size with fresh weights."""
    about = KINDS[kind]
    examples, others = (about.make(about.examples), ()) if data is None else sampled(about, data, seed)
    task = about.task(examples)
    tokenizer, config, made = _model(task, examples, model, seed)
    return Trial(task, tokenizer, config, made, examples, task.rows(examples, tokenizer), about.batch_size, others)


def minilm_if_installed() -> str | None:
    """The name of the published weights, if they are here."""
    try:
        find_model("minilm")
    except InputError:
        return None
    return "minilm"


def sampled(about: Kind, folder: Path, seed: int) -> tuple[Examples, Examples]:
    """Some of a set's training examples, in the order of their file, and others of it."""
    preset = PRESETS[about.preset]
    files = find_files(preset, folder)
    if "train" not in files:
        raise InputError(f"{folder} without training examples", wanted=preset.files["train"][0])
    known = read_files(preset, files["train"]).examples
    count = min(about.examples, len(known))
    chosen = np.random.default_rng(seed).choice(len(known), count, replace=False)
    others = np.setdiff1d(np.arange(len(known)), chosen)[:MOST_OTHERS]
    return [known[place] for place in np.sort(chosen)], [known[place] for place in others]


def measure_finetuning(
    trial: Trial, *, rounds: int, against_transformers: bool, ours: str = "float32", theirs: str = "float32"
) -> dict[str, Rounds]:
    """Training and prediction, all sides in turns, every round through the same examples; the first is not counted.

    Each side has a process of its own and learns with products in its precision. Predictions are in float32, as
    they come, and where ours has another precision once more with each side in its own.
    """
    works = [TRAINING, PREDICTION, *([LOWER_PREDICTION] if ours != "float32" else [])]
    with TemporaryDirectory() as folder:
        sides = {"ours": Side(partial(our_works, trial, Path(folder), rounds + 1, ours), dict([HUGE_PAGES]))}
        if against_transformers:
            plain = {HUGE_PAGES[0]: "0"}
            sides |= {name: Side(partial(their_works, trial, name, theirs), plain) for name in ORDERS}
        measured = in_turns(sides, works, rounds=rounds)
    return {work: Rounds(**speeds) for work, speeds in measured.items()}


def our_works(trial: Trial, folder: Path, epochs: int, precision: str) -> dict[str, Work]:
    """What ours does."""
    training = our_training(trial, folder, epochs=epochs, precision=precision)
    return {
        TRAINING: training,
        PREDICTION: our_prediction(trial),
        LOWER_PREDICTION: our_prediction(trial, precision),
    }


def their_works(trial: Trial, order: str, precision: str) -> dict[str, Work]:
    """What theirs does, in random order or grouped by length."""
    training = their_training(trial, ORDERS[order], precision)
    predicting = partial(their_prediction, trial, by_length=order == "bucketed")
    return {TRAINING: training, PREDICTION: predicting(), LOWER_PREDICTION: predicting(precision=precision)}


def our_training(trial: Trial, folder: Path, *, epochs: int, precision: str = "float32") -> Work:
    """A fine-tuning as `unmask finetune` runs it."""
    settings = FineTuningSettings(
        epochs=epochs + 1,
        batch_size=trial.batch_size,
        learning_rate=LEARNING_RATE,
        dropout=DROPOUT,
        evaluations=NEVER,
        precision=precision,
    )
    model = deepcopy(trial.model)
    tuning = FineTuning(
        folder, trial.task, model, trial.tokenizer, trial.examples, trial.others, settings, save_every=math.inf
    )
    tuning.resume()
    steps = tuning.train()

    def go() -> int:
        for _ in range(tuning.batches.steps_an_epoch):
            next(steps)
        return len(trial.examples)

    return go


def their_training(trial: Trial, order: Callable[[Trial], list[int]], precision: str = "float32") -> Work:
    """A loop as their Trainer runs it."""
    model, features, collate = their_model(trial).train(), their_features(trial), their_collator(trial)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, fused=True)  # the Trainer's own choice

    def go() -> int:
        for batch in _batches(order(trial), trial.batch_size):
            their_learning(model, optimiser, collate([features[place] for place in batch]), precision)
        return len(trial.examples)

    return go


def our_prediction(trial: Trial, precision: str = "float32") -> Work:
    """What the head says of all rows, as prediction and evaluation have it."""
    model = deepcopy(trial.model)

    def go() -> int:
        outputs_of(model, trial.rows, precision=PRECISIONS[precision])
        return len(trial.examples)

    return go


def their_prediction(trial: Trial, *, by_length: bool = False, precision: str = "float32") -> Work:
    """Batches in the order of the file, or shortest first."""
    model, features, collate = their_model(trial).eval(), their_features(trial), their_collator(trial)
    places = list(range(len(features)))
    if by_length:
        places.sort(key=lambda place: len(trial.rows[place].ids))

    def go() -> int:
        for batch in _batches(places, trial.batch_size):
            with torch.inference_mode(), torch.autocast("cpu", PRECISIONS[precision], enabled=precision != "float32"):
                model(**collate([features[place] for place in batch]))
        return len(trial.examples)

    return go


def their_model(trial: Trial) -> Any:
    """Their model for the task, with our weights."""
    import transformers

    published = dict(trial.config.to_published(), attn_implementation="sdpa", num_labels=trial.task.outputs)
    name = {"classes": "BertForSequenceClassification", "span": "BertForQuestionAnswering"}[trial.task.head]
    model: Any = getattr(transformers, name)(transformers.BertConfig(**published))
    weights = to_published(trial.model.state_dict(), trial.config, trial.task.head)
    missing, unused = model.load_state_dict(weights, strict=False)
    assert not missing, missing
    assert not unused, unused
    return model


def their_features(trial: Trial) -> list[dict[str, Any]]:
    """Our rows as their collator takes them."""
    names = {"classes": ("labels",), "span": ("start_positions", "end_positions")}[trial.task.head]
    return [
        {
            "input_ids": list(row.ids),
            "token_type_ids": list(row.segments),
            "attention_mask": [1] * len(row.ids),
            **{name: int(target) for name, target in zip(names, _target(row), strict=True)},
        }
        for row in trial.rows
    ]


def their_collator(trial: Trial) -> Callable[[list[dict[str, Any]]], Any]:
    """Rows padded to the longest of a batch."""
    import transformers

    with TemporaryDirectory() as folder:
        trial.tokenizer.save(Path(folder))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return transformers.DataCollatorWithPadding(tokenizer)


def random_order(trial: Trial) -> list[int]:
    """All rows shuffled."""
    return torch.randperm(len(trial.rows)).tolist()


def grouped_order(trial: Trial) -> list[int]:
    """All rows in the order of their Trainer's grouping by length, at its best: one group of all rows."""
    from transformers.trainer_pt_utils import get_length_grouped_indices

    lengths = [len(row.ids) for row in trial.rows]
    batches = -(-len(lengths) // trial.batch_size)
    return list(get_length_grouped_indices(lengths, trial.batch_size, mega_batch_mult=batches))


ORDERS = {"theirs": random_order, "bucketed": grouped_order}


def made_texts(count: int) -> list[TextExample]:
    """Labelled texts with the lengths of SST-2."""
    words = _words(0)
    lengths = spread(TEXTS, count)
    return [TextExample(" ".join(words(length)), label=str(number % 2)) for number, length in enumerate(lengths)]


def made_questions(count: int) -> list[QuestionExample]:
    """Questions with the lengths of SQuAD, each answered by a word of its context."""
    words = _words(1)
    made = []
    for asked, told in zip(spread(QUESTIONS, count), reversed(spread(CONTEXTS, count)), strict=True):
        context = words(told)
        answer = GivenAnswer(context[told // 2], len(" ".join(context[: told // 2])) + 1)
        made.append(QuestionExample(" ".join(words(asked)), " ".join(context), (answer,)))
    return made


def spread(tenths: Sequence[int], count: int) -> list[int]:
    """So many lengths of a distribution that is given by its tenths, in a mixed order.

    >>> sorted(spread((1, 3, 5), 5))
    [1, 2, 3, 4, 5]
    """
    shares = (np.arange(count) + 0.5) / count * (len(tenths) - 1)
    lengths = np.rint(np.interp(shares, np.arange(len(tenths)), tenths)).astype(int)
    return np.random.default_rng(0).permutation(lengths).tolist()  # type: ignore[no-any-return]


def _words(seed: int) -> Callable[[int], list[str]]:
    """Gives any number of common English words."""
    chance = np.random.default_rng(seed)
    return lambda count: [COMMON[place] for place in chance.integers(len(COMMON), size=count)]


def _model(task: Task, examples: Examples, name: str | None, seed: int) -> tuple[Tokenizer, BertConfig, BertWithHead]:
    if name is not None:
        opened = open_model(name)
        made = with_fresh_head(opened, task.head, outputs=task.outputs, dropout=DROPOUT, seed=seed)
        return opened.tokenizer, *made
    pieces = learn_vocabulary((text for example in examples for text in _texts(example)), size=PIECES)
    tokenizer = Tokenizer([*pieces, *(f"[unused{number}]" for number in range(PIECES - len(pieces)))])
    config = replace(MINILM, vocabulary_size=tokenizer.size, pooler=task.head in POOLED_HEADS)
    head = make_head(task.head, config, outputs=task.outputs, seed=seed + 1)
    return tokenizer, config, BertWithHead(Bert(config, seed), head)


def _texts(example: TextExample | QuestionExample) -> tuple[str, ...]:
    return (example.text,) if isinstance(example, TextExample) else (example.question, example.context)


def _target(row: Row) -> NDArray[Any]:
    assert row.target is not None, "rows to learn from have targets"
    return row.target


def _batches(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]


KINDS = {
    "classify": Kind("sst2", 32, 512, made_texts, Classification.learned_from),
    "answer": Kind("squad1", 8, 96, made_questions, Answering.learned_from),
}
