"""What the objectives bring (the paper's table 5): masked words with and without next sentences, and left to right.

The same text, vocabulary, size, seed and time for each. Left to right stays so while the task is learned; with a BiLSTM
on top, which learns together with the model under it, the task sees both sides after all.
"""

from collections.abc import Callable

from unmask.lab.experiment import Row
from unmask.lab.workbench import Workbench, score_of, tuned_settings

COLUMNS = ("mlm_loss", "mlm_accuracy", "nsp_accuracy", "clm_loss", "score")
OBJECTIVES = {"BERT": "mlm+nsp", "no next sentence": "mlm", "left to right": "clm"}
BOTH_WAYS = "left to right + BiLSTM"
READ_AGAIN = {"features": "last", "reader": "bilstm", "thawed": True}


def rows(bench: Workbench) -> dict[str, Callable[[], Row]]:
    """How each row is made."""

    def made(name: str, objective: str, **changes: object) -> Callable[[], Row]:
        return lambda: _row(bench, name, objective, **changes)

    found = {name: made(name, objective) for name, objective in OBJECTIVES.items()}
    if bench.is_labelled:
        found[BOTH_WAYS] = made(BOTH_WAYS, "clm", **READ_AGAIN)
    return found


def _row(bench: Workbench, name: str, objective: str, **changes: object) -> Row:
    trained = bench.pretrain(objective, objective=objective)
    tuned = bench.tune(f"{objective}-bilstm" if changes else objective, trained.folder, **changes)
    figures = {column: trained.figures.get(column) for column in COLUMNS}
    return trained.row(name, {**figures, "score": score_of(tuned)}, **tuned_settings(tuned))
