"""A handful of made reviews, and a small request to learn from them."""

from pathlib import Path

from unmask.tasks.finetuning_run import Request
from unmask.text.vocabulary import SPECIAL_PIECES

GOOD, BAD = ("good", "fine", "lovely", "bright"), ("bad", "dull", "awful", "dark")
PIECES = [*SPECIAL_PIECES, *GOOD, *BAD, "the", "day", "was", "a", "walk", "very"]
TEXTS = [f"the {noun} was {very}{word}" for word in GOOD + BAD for noun in ("day", "walk") for very in ("", "very ")]
ROWS = [(text, "positive" if text.split()[-1] in GOOD else "negative") for text in TEXTS]
QUICK = {"epochs": 12, "batch_size": 8, "learning_rate": 2e-3, "dropout": 0.1}


def request(encoder: Path, reviews: Path, folder: Path, **changes: object) -> Request:
    """What a user would ask for."""
    return Request("classify", str(encoder), reviews, folder, dev=reviews, changes={**QUICK, **changes})
