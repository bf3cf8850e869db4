"""The two models that choose replies, learned from dialogues: exchanges in, a tower and a cross-encoder out.

The tower gives contexts and replies vectors that are near where they belong together, each told from all others of its
step. The cross-encoder reads context and reply as one pair, as next-sentence prediction does, and starts from the
model's own next-sentence head where it has one, else from the tower; it learns to find the real reply among others that
are drawn by chance. Both are fine-tunings through the one loop, and resume as such.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from unmask.apps.turns import Said, context_text
from unmask.data.chance import generator
from unmask.data.dialogues import Exchange
from unmask.data.splitting import first_share
from unmask.files import write_text
from unmask.model.heads import BertWithHead, next_sentence_in
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request

WRONG = 2  # replies beside the real one that the cross-encoder reads: rather more exchanges than more of them
# Drawn by chance: what the tower takes for the best is often as good as the real reply, and a cross-encoder that was
# shown half of its wrong replies from there learned that being near speaks against a reply (records dialogue).
READ = {"dropout": 0.0}  # every exchange is seen once, so that nothing is learned by heart
FIRST_SEED_OF_REPLIES = 2  # a counter of its own for each use of chance

Train = Callable[[FineTuningRun], Outcome]


@dataclass(frozen=True)
class Learning:
    """How the two models are learned."""

    model: str = "default"  # what both start from
    most: int = 20_000  # exchanges that the tower learns from
    most_read: int = 4_000  # exchanges that the cross-encoder learns from, each with several replies to read
    epochs: float = 1.0
    learning_rate: float | None = None  # at its peak; what fits the model's width if none
    batch_size: int = 32  # exchanges a step of the tower; a quarter of it for the cross-encoder
    length: int = 96  # pieces of a context, the latest kept
    length_read: int = 64  # pieces of context and reply together that the cross-encoder reads
    seed: int = 0
    device: str = "cpu"
    changes: dict[str, Any] = field(default_factory=dict)  # further settings of the fine-tunings


def learn_tower(
    folder: Path, learned: Sequence[Exchange], held_out: Sequence[Exchange], learning: Learning, train: Train
) -> Outcome:
    """The tower, in `folder/tower`."""
    chosen = _some(learned, learning.most, learning.seed)
    _write(folder / "tower.jsonl", map(_pair, chosen))
    _write(folder / "tower.dev.jsonl", map(_pair, held_out))
    return train(FineTuningRun(_request("embed", "tower", folder, learning, learning.model, learning.batch_size)))


def learn_cross(
    folder: Path, learned: Sequence[Exchange], held_out: Sequence[Exchange], learning: Learning, train: Train
) -> Outcome:
    """The cross-encoder, in `folder/cross`; the tower must be there."""
    chosen = _some(learned, learning.most_read, learning.seed)
    _write(folder / "cross.dev.jsonl", choices(held_out, held_out, seed=learning.seed + 1))
    _write(folder / "cross.jsonl", choices(chosen, learned, seed=learning.seed))
    length = min(learning.length, learning.length_read)
    reading = replace(learning, length=length, changes={**READ, **learning.changes})
    batch_size = max(1, learning.batch_size // 4)
    run = FineTuningRun(_request("choose", "cross", folder, reading, learning.model, batch_size))
    if not start_from_next_sentence(run):  # then the tower knows more of dialogues than the model does
        run = FineTuningRun(_request("choose", "cross", folder, reading, str(folder / "tower"), batch_size))
    return train(run)


def choices(chosen: Sequence[Exchange], said: Sequence[Exchange], *, seed: int) -> list[dict[str, Any]]:
    """Each exchange as a choice between its reply and others that were said, drawn by chance."""
    replies = list(dict.fromkeys(exchange.response for exchange in said))
    rows = []
    for number, exchange in enumerate(chosen):
        draw = generator(seed, number, FIRST_SEED_OF_REPLIES)
        by_chance = draw.integers(len(replies), size=4 * WRONG)
        wrong = _others([exchange.response], (replies[i] for i in by_chance), WRONG)
        if wrong:
            place = int(draw.integers(len(wrong) + 1))
            endings = [*wrong[:place], exchange.response, *wrong[place:]]
            rows.append({"context": context_text(exchange.context), "endings": endings, "label": place})
    return rows


def start_from_next_sentence(run: FineTuningRun) -> bool:
    """Lets a choice begin with what the model's next-sentence head says for a pair, if it has one."""
    opened = run.opened.model
    following = next_sentence_in(opened.head if isinstance(opened, BertWithHead) else None)
    if following is None:
        return False
    own = run.model.head.classifier
    assert isinstance(own, torch.nn.Linear), "a choice is one number of the pooled [CLS]"
    with torch.no_grad():
        own.weight.copy_(following.classifier.weight[:1] - following.classifier.weight[1:])
        own.bias.copy_(following.classifier.bias[:1] - following.classifier.bias[1:])
    return True


def _request(task: str, name: str, folder: Path, learning: Learning, model: str, batch_size: int) -> Request:
    return Request(
        task=task,
        model=model,
        train=folder / f"{name}.jsonl",
        dev=folder / f"{name}.dev.jsonl",
        folder=folder / name,
        changes={
            "epochs": learning.epochs,
            "learning_rate": learning.learning_rate,
            "batch_size": batch_size,
            "seed": learning.seed,
            **learning.changes,
        },
        options={"longest": learning.length, "long_text": "tail"},
        device=learning.device,
    )


def _some(exchanges: Sequence[Exchange], most: int, seed: int) -> list[Exchange]:
    return [exchanges[i] for i in first_share(len(exchanges), min(1.0, most / len(exchanges)), seed)]


def _others(known: Sequence[str], replies: Iterable[str], count: int) -> list[str]:
    """The first few that say something else than what is known, and than one another."""
    found = list[str]()
    for reply in replies:
        if len(found) < count and reply not in Said([*known, *found]):
            found.append(reply)
    return found


def _pair(exchange: Exchange) -> dict[str, Any]:
    return {"text_a": context_text(exchange.context), "text_b": exchange.response}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
