"""The two models that choose replies, learned from dialogues: exchanges in, a tower and a cross-encoder out.

The tower gives contexts and replies vectors that are near where they belong together, each told from all others of its
step. The cross-encoder reads context and reply as one pair, as next-sentence prediction does, and starts from the
model's own next-sentence head where it has one; it learns to find the real reply among others, half of them drawn by
chance, half those that the tower takes for the best. Both are fine-tunings through the one loop, and resume as such.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from unmask.apps.turns import Said, context_text
from unmask.apps.vectors import TextVectors
from unmask.data.chance import generator
from unmask.data.dialogues import Exchange
from unmask.data.splitting import first_share
from unmask.files import write_text
from unmask.model.heads import BertWithHead, next_sentence_in
from unmask.retrieve.nearest import Nearest
from unmask.tasks.finetuning_run import FineTuningRun, Outcome, Request

WRONG = 4  # replies beside the real one that the cross-encoder reads: half by chance, half hard
SKIPPED, HARD = 3, 40  # the nearest few may be as good as the real reply; hard ones are drawn from those after them
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
    tower = TextVectors(folder / "tower", device=learning.device)
    chosen = _some(learned, learning.most_read, learning.seed)
    if not (folder / "cross.jsonl").exists():  # an interrupted run goes on with what was mined
        _write(folder / "cross.dev.jsonl", choices(held_out, tower, seed=learning.seed + 1))
        _write(folder / "cross.jsonl", choices(chosen, tower, seed=learning.seed))
    batch_size = max(1, learning.batch_size // 4)
    run = FineTuningRun(_request("choose", "cross", folder, learning, learning.model, batch_size))
    if not start_from_next_sentence(run):  # then the tower knows more of dialogues than the model does
        run = FineTuningRun(_request("choose", "cross", folder, learning, str(folder / "tower"), batch_size))
    return train(run)


def choices(chosen: Sequence[Exchange], tower: TextVectors, *, seed: int) -> list[dict[str, Any]]:
    """Each exchange as a choice between its reply and wrong ones: some drawn by chance, some near in the tower."""
    replies = list(dict.fromkeys(exchange.response for exchange in chosen))
    contexts = tower([context_text(exchange.context) for exchange in chosen])
    near, _ = Nearest(tower(replies)).best(contexts, SKIPPED + HARD)
    rows = []
    for number, exchange in enumerate(chosen):
        draw = generator(seed, number, FIRST_SEED_OF_REPLIES)
        hard = draw.permutation(near[number, SKIPPED:])
        by_chance = draw.integers(len(replies), size=4 * WRONG)
        wrong = _others([exchange.response], (replies[i] for i in hard), WRONG // 2)
        wrong += _others([exchange.response, *wrong], (replies[i] for i in by_chance), WRONG - len(wrong))
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
