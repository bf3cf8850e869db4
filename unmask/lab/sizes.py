"""What size brings (the paper's table 6): several sizes, the same text and time; how each fills gaps and learns."""

import math
from collections.abc import Callable
from functools import partial

from unmask.lab.experiment import Row
from unmask.lab.workbench import Workbench, score_of, tuned_settings

COLUMNS = ("parameters", "mlm_loss", "perplexity", "mlm_accuracy", "score")


def rows(bench: Workbench) -> dict[str, Callable[[], Row]]:
    """How each row is made."""
    return {size: partial(_row, bench, size) for size in bench.asked.sizes}


def _row(bench: Workbench, size: str) -> Row:
    trained = bench.pretrain(size, size=size)
    tuned = bench.tune(size, trained.folder)
    loss = trained.figures["mlm_loss"]
    figures = {
        "parameters": trained.settings["parameters"],
        "mlm_loss": loss,
        "perplexity": None if loss is None else math.exp(loss),
        "mlm_accuracy": trained.figures["mlm_accuracy"],
        "score": score_of(tuned),
    }
    return trained.row(size, figures, **tuned_settings(tuned))
