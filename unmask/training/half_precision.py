"""Products in lower precision, and whether this CPU really has them.

Some virtual machines name matrix instructions (AMX) that they do not carry out: the first bfloat16 product there ends
the process without a word. So a product is tried in a process of its own before a run relies on it.
"""

import functools
import subprocess
import sys

import torch

from unmask.errors import InputError

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TRIAL = "import torch; a = torch.ones(64, 64, dtype=torch.{precision}); torch.nn.functional.linear(a, a)"
PATIENCE = 120  # seconds for a process that imports torch on a busy machine


@functools.cache
def multiplies_in(precision: str) -> bool:
    """Whether a product in this precision comes back on this CPU.

    >>> multiplies_in("float32")
    True
    """
    if precision == "float32":
        return True
    trial = [sys.executable, "-c", TRIAL.format(precision=precision)]
    return subprocess.run(trial, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False).returncode == 0


def check_precision(precision: str, device: str) -> None:
    """Says so where there is no such precision, or a run in it would end the process."""
    if precision not in PRECISIONS:
        raise InputError(f"precision {precision!r}", wanted=" or ".join(PRECISIONS))
    if device == "cpu" and not multiplies_in(precision):
        raise InputError(
            f"{precision} products end the process on this CPU",
            wanted="a precision that it computes in",
            do="leave --precision out, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16, which does without AMX",
        )
