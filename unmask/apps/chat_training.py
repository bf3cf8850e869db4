"""A chat from dialogues: files in, a chat's folder out, with its models, the response base and the threshold.

A part of the dialogues is held out. On it the models are measured and weighed against each other; a cross-encoder that
does not surely help there is left out. Then the threshold below which the chat says nothing is chosen: the one that
best tells the held-out conversations from questions to strangers. Until all is done everything lies in a hidden folder
beside the chat's, from which an interrupted training goes on.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps.app_folder import read_app, write_app
from unmask.apps.chat import CROSS, TOWER, Chat, ReplyScores
from unmask.apps.chat_measures import Pool, Ranked, by_vectors, make_pools, ranked
from unmask.apps.chat_models import Learning, Train, learn_cross, learn_tower
from unmask.apps.not_knowing import strangers_to
from unmask.apps.predict import Predictor
from unmask.apps.reply_scores import PoolNumbers, Weights, learn_weights, reading_helps
from unmask.apps.response_base import ResponseBase
from unmask.apps.vectors import Report, TextVectors
from unmask.data.dialogues import Dialogue, Dialogues, exchanges, read_dialogues
from unmask.data.splitting import split
from unmask.errors import InputError
from unmask.tasks.finetuning_run import FineTuningRun

HELD_OUT = 0.1  # of the dialogues, where none are named to measure on
MOST_DEV = 500  # held-out exchanges that are looked at while the models learn
MOST_POOLS = 300  # held-out exchanges that are measured on
MOST_CONTEXTS = 60  # held-out conversations by which the threshold is chosen
FEWEST = 4  # dialogues: two to learn from, two to hold out
OF_A_TRAINING = ("checkpoints", "*.jsonl", ".*")  # what a model's folder does not need once it has learned


@dataclass(frozen=True)
class ChatOutcome:
    """What came of a training; every figure is of dialogues that were held out."""

    folder: str
    model: str
    dialogues: int
    exchanges: int
    responses: int
    held_out: int  # dialogues
    scores: dict[str, dict[str, Any]]  # R10@1, R10@2 and MRR of the chat and of what it is held against
    cross_encoder_kept: bool  # whether it helped on them; if not, the chat has none
    weights: dict[str, float]
    threshold: float
    replied: float  # the share of held-out conversations that it replies to
    strangers_refused: float  # the share of questions to strangers that it does not reply to
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON has it."""
        return asdict(self)


class ChatTraining:
    """Everything of one training, read and divided."""

    def __init__(self, folder: Path, paths: Sequence[Path], learning: Learning, *, dev: Sequence[Path] = ()) -> None:
        self.folder, self.learning = folder, learning
        read = read_dialogues(paths)
        held_out = read_dialogues(dev) if dev else Dialogues(())
        self.notes, self.all_their_own = (*read.notes, *held_out.notes), not dev
        self.learned, self.held_out = (
            (read.dialogues, held_out.dialogues) if dev else _divided(read.dialogues, learning.seed)
        )
        self.data = hashlib.sha256(repr((self.learned, self.held_out, learning)).encode()).hexdigest()
        self.begun = folder.absolute().with_name(f".{folder.absolute().name}.training")
        self.check_folder()

    def check_folder(self) -> None:
        """Refuses a folder with something else in it before time is spent."""
        folder = self.folder
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and read_app(folder, "chat") is None):
            raise InputError(f"{folder}, which holds other things", wanted="a new folder, or a chat's")

    def train(
        self,
        train: Train = FineTuningRun.train,
        note: Callable[[str], None] = lambda _: None,
        report: Report = lambda *_: None,
    ) -> ChatOutcome:
        """Learns what is left to learn, measures, and writes the folder; what is finished is not done again."""
        finished = read_app(self.folder, "chat") or {}
        if finished.get("data") == self.data:
            return ChatOutcome(**finished["outcome"] | {"folder": str(self.folder)})
        started = time.monotonic()
        self._begin()
        said = [exchange for dialogue in self.learned for exchange in exchanges(dialogue)]
        kept_back = [exchange for dialogue in self.held_out for exchange in exchanges(dialogue)][:MOST_DEV]
        note(f"the tower learns from {min(len(said), self.learning.most):,} exchanges")
        learn_tower(self.begun, said, kept_back, self.learning, train)
        note(f"the cross-encoder learns from {min(len(said), self.learning.most_read):,} exchanges")
        learn_cross(self.begun, said, kept_back, self.learning, train)
        tower = TextVectors(self.begun / TOWER, device=self.learning.device)
        cross = Predictor.open(self.begun / CROSS, device=self.learning.device)
        note("measuring on what was held out")
        weights, scores = self._measure(tower, cross)
        kept = cross if weights.reading > 0 else None
        if kept is None:
            note("the cross-encoder does not surely help there: the chat does without")
        note("the response base gets its vectors")
        base = ResponseBase.of(said, tower, report)
        chat = Chat(base, ReplyScores(kept, weights, base.responses), 0.0)
        threshold, replied, refused = choose_threshold(chat, make_pools(self.held_out, most=MOST_CONTEXTS))
        if self.all_their_own:  # measured on, and now as good to say as the others
            base = base.with_more([exchange for dialogue in self.held_out for exchange in exchanges(dialogue)])
        outcome = ChatOutcome(
            folder=str(self.folder),
            model=self.learning.model,
            dialogues=len(self.learned),
            exchanges=len(said),
            responses=len(base.responses),
            held_out=len(self.held_out),
            scores={name: figures.to_dict() for name, figures in scores.items()},
            cross_encoder_kept=kept is not None,
            weights=weights.to_dict(),
            threshold=threshold,
            replied=replied,
            strangers_refused=refused,
            seconds=round(time.monotonic() - started, 3),
        )
        self._write(base, tower, outcome)
        shutil.rmtree(self.begun, ignore_errors=True)
        return outcome

    def _begin(self) -> None:
        """Makes the hidden folder; one that was begun with other dialogues or settings is not gone on with."""
        mark = self.begun / "data.txt"
        if self.begun.exists() and (not mark.exists() or mark.read_text(encoding="utf-8") != self.data):
            shutil.rmtree(self.begun)
        self.begun.mkdir(parents=True, exist_ok=True)
        mark.write_text(self.data, encoding="utf-8")

    def _measure(self, tower: TextVectors, cross: Predictor) -> tuple[Weights, dict[str, Ranked]]:
        pools = make_pools(self.held_out, most=MOST_POOLS, seed=self.learning.seed)
        numbers = PoolNumbers.of(pools, tower, cross)
        weights = learn_weights(numbers if reading_helps(numbers) else numbers.unread())
        untrained = TextVectors(self.learning.model, device=self.learning.device)
        return weights, {**numbers.ranked(weights), "untrained": ranked(by_vectors(untrained, pools))}

    def _write(self, base: ResponseBase, tower: TextVectors, outcome: ChatOutcome) -> None:
        fields = {
            "encoder": self.learning.model,
            "encoder_identity": tower.identity,
            "weights": outcome.weights,
            "threshold": outcome.threshold,
            "data": self.data,
            "outcome": replace(outcome, folder="").to_dict(),
        }
        with write_app(self.folder, "chat", fields) as temporary:
            base.save(temporary)
            for name in (TOWER, CROSS) if outcome.cross_encoder_kept else (TOWER,):
                left = shutil.ignore_patterns(*OF_A_TRAINING)
                shutil.copytree(self.begun / name, temporary / name, ignore=left)


def choose_threshold(chat: Chat, pools: Sequence[Pool]) -> tuple[float, float, float]:
    """The score that best tells held-out conversations from questions to strangers; the shares on the right side."""
    contexts = [list(pool.context) for pool in pools]
    strangers = [[question] for question in strangers_to(context[-1] for context in contexts)]
    known, strange = (np.array([_best(chat, turns) for turns in group]) for group in (contexts, strangers))
    return best_threshold(known, strange)


def best_threshold(known: Any, strange: Any) -> tuple[float, float, float]:
    """The threshold with the most on their sides, shares of each group added up; of equals the lowest.

    >>> best_threshold(np.array([0.4, 0.8, 0.9]), np.array([0.1, 0.5]))
    (0.65, 0.6666666666666666, 1.0)
    """
    values = np.unique(np.concatenate([known, strange]))
    between = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2])
    replied = np.array([(known >= threshold).mean() for threshold in between])
    refused = np.array([(strange < threshold).mean() for threshold in between])
    best = int(np.argmax(replied + refused))
    return float(between[best]), float(replied[best]), float(refused[best])


def _best(chat: Chat, turns: Sequence[str]) -> float:
    return max((candidate.score for candidate in chat.candidates(turns)), default=0.0)


def _divided(dialogues: Sequence[Dialogue], seed: int) -> tuple[tuple[Dialogue, ...], tuple[Dialogue, ...]]:
    if len(dialogues) < FEWEST:
        raise InputError(f"{len(dialogues)} dialogues", wanted=f"at least {FEWEST}, some of them to measure on")
    kept, aside = split(dialogues, max(HELD_OUT, 2 / len(dialogues)), seed=seed)
    return tuple(dialogues[i] for i in kept), tuple(dialogues[i] for i in aside)
