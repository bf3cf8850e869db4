"""Judges a pretrained model before any fine-tuning: a model and a file of minimal pairs or gaps in, its score out."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from unmask.apps.fill import Filler
from unmask.apps.predict import the_model
from unmask.apps.reading import Report
from unmask.apps.score import Scorer
from unmask.data.json_lines import read_json_lines
from unmask.errors import InputError
from unmask.runtime.folder import ServingFolder
from unmask.tasks.cloze import FEW, JudgedGaps, judge_gaps, read_gaps
from unmask.tasks.minimal_pairs import JudgedPairs, judge_pairs, read_pairs
from unmask.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from unmask.model.folder import ModelFolder

Opened: TypeAlias = "ServingFolder | ModelFolder"
Rows = list[tuple[str, dict[str, Any]]]  # each with its place in the file


def judge_pretrained(
    opened: Opened,
    data: Path,
    *,
    limit: int | None = None,
    precision: str = "float32",
    report: Report | None = None,
) -> JudgedPairs | JudgedGaps:
    """Finds out by the file's fields what is asked, and scores the model; `limit` takes that many of each paradigm."""
    rows = [(f"{data} line {number}", row) for number, row in read_json_lines(data)]
    if not rows:
        raise InputError(f"{data}, an empty file", wanted="one example a line")
    for fields, judge in KINDS.items():
        if all(field in rows[0][1] for field in fields):
            with _products_in(precision, opened):
                return judge(opened, rows, limit, report)
    kinds = " or ".join(" and ".join(fields) for fields in KINDS)
    raise InputError(f"{data} with the fields {', '.join(rows[0][1])}", wanted=kinds)


def _products_in(precision: str, opened: Opened) -> AbstractContextManager[Any]:
    """While it lasts, a model in torch multiplies in this precision; what is exported has its own."""
    if precision == "float32":
        return nullcontext()
    if isinstance(opened, ServingFolder):
        raise InputError(f"precision {precision!r} of a serving folder", wanted="a model folder")
    import torch

    from unmask.training.half_precision import PRECISIONS, settled_precision

    device = next(opened.model.parameters()).device.type
    settled = PRECISIONS[settled_precision(precision, device)]
    return torch.autocast(device, settled, enabled=settled != torch.float32)


def _judge_pairs(opened: Opened, rows: Rows, limit: int | None, report: Report | None) -> JudgedPairs:
    scorer = Scorer(the_model(opened), opened.tokenizer)
    return judge_pairs(read_pairs(rows, limit=limit), lambda sentences: scorer.sums(sentences, report=report))


def _judge_gaps(opened: Opened, rows: Rows, limit: int | None, report: Report | None) -> JudgedGaps:
    filler = Filler(the_model(opened), opened.tokenizer, top=FEW)

    def fill(texts: list[str]) -> list[list[str]]:
        filled = filler.many(texts, report=report)
        return [[candidate.token for candidate in answer.masks[0].candidates] for answer in filled]

    return judge_gaps(read_gaps(rows)[:limit], fill=fill, piece=lambda answer: _one_piece(opened.tokenizer, answer))


def _one_piece(tokenizer: Tokenizer, answer: str) -> str | None:
    ids = tokenizer.ids_batch([answer])[0]
    return tokenizer.pieces[ids[0]] if len(ids) == 1 and ids[0] != tokenizer.unknown_id else None


KINDS: dict[tuple[str, ...], Callable[[Opened, Rows, int | None, Report | None], JudgedPairs | JudgedGaps]] = {
    ("good", "bad"): _judge_pairs,
    ("text", "answer"): _judge_gaps,
}
