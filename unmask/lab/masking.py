"""How hidden words are best hidden (the paper's table 8): six mixes of masked, kept and random pieces.

Each pretrained model is fine-tuned, and read as features by a BiLSTM (its last four layers side by side), where [MASK]
is never seen. Held-out figures are of the usual mix for all, as only so can they be compared.
"""

from collections.abc import Callable
from functools import partial

from unmask.lab.experiment import Row
from unmask.lab.workbench import Workbench, score_of, tuned_settings

COLUMNS = ("mlm_loss", "mlm_accuracy", "nsp_accuracy", "score", "feature_score")
# The paper's columns are MASK, SAME and RND; --mask-mix has masked, random and kept.
PAPER_MIXES = ((80, 10, 10), (100, 0, 0), (80, 0, 20), (80, 20, 0), (0, 20, 80), (0, 0, 100))


def rows(bench: Workbench) -> dict[str, Callable[[], Row]]:
    """How each row is made."""
    return {name_of(*mix): partial(_row, bench, *mix) for mix in PAPER_MIXES}


def name_of(masked: int, same: int, random: int) -> str:
    """A mix as the table has it.

    >>> name_of(80, 0, 20)
    '80 mask, 0 same, 20 random'
    """
    return f"{masked} mask, {same} same, {random} random"


def mask_mix(masked: int, same: int, random: int) -> tuple[float, float, float]:
    """The same as shares in the order that masking takes them.

    >>> mask_mix(80, 0, 20)
    (0.8, 0.2, 0.0)
    """
    return masked / 100, random / 100, same / 100


def _row(bench: Workbench, masked: int, same: int, random: int) -> Row:
    name = f"{masked}-{same}-{random}"
    trained = bench.pretrain(name, mask_mix=mask_mix(masked, same, random))
    tuned = bench.tune(name, trained.folder)
    read = bench.tune(f"{name}-features", trained.folder, features="concat-last-4", reader="bilstm")
    examined = bench.examined(trained)
    figures = {column: examined.get(column) for column in COLUMNS}
    scores = {"score": score_of(tuned), "feature_score": score_of(read)}
    return trained.row(name_of(masked, same, random), {**figures, **scores}, **tuned_settings(tuned))
