"""Whether this CPU really multiplies in lower precision.

Some virtual machines name matrix instructions (AMX) that they do not carry out: the first bfloat16 product there ends
the process without a word. So a product is tried in a process of its own before a run relies on it.
"""

import functools
import subprocess
import sys

from unmask.errors import InputError

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


def refuse_missing(precision: str) -> None:
    """Says so where a run in this precision would end the process."""
    if not multiplies_in(precision):
        raise InputError(
            f"{precision} products end the process on this CPU",
            wanted="a precision that it computes in",
            do="leave --precision out, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16, which does without AMX",
        )
