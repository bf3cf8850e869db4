"""Products in lower precision: where they are worth it, and whether this CPU really has them.

A CPU with instructions for bfloat16 products learns up to half as much again in the same time; one without computes
them more slowly than float32. Some virtual machines name matrix instructions (AMX) that they do not carry out: the
first bfloat16 product there ends the process without a word. So where AMX is named, a product is tried in a process of
its own before a run relies on it.
"""

import functools
import subprocess
import sys

import torch

from unmask.errors import InputError

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AUTO = "auto"  # bfloat16 where the CPU has instructions for it, elsewhere float32
INSTRUCTIONS = ("avx512_bf16", "amx_bf16")
TRIAL = "import torch; a = torch.ones(64, 64, dtype=torch.{precision}); torch.nn.functional.linear(a, a)"
PATIENCE = 120  # seconds for a process that imports torch on a busy machine


@functools.cache
def multiplies_in(precision: str) -> bool:
    """Whether a product in this precision comes back on this CPU.

    >>> multiplies_in("float32")
    True
    """
    if precision == "float32" or not torch.cpu.get_capabilities().get("amx_tile"):
        return True
    trial = [sys.executable, "-c", TRIAL.format(precision=precision)]
    return subprocess.run(trial, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False).returncode == 0


def settled_precision(precision: str, device: str) -> str:
    """The precision to compute in; says so where there is no such one, or a run in it would end the process.

    >>> settled_precision("bfloat16", "cuda"), settled_precision("auto", "cuda")
    ('bfloat16', 'float32')
    """
    if precision == AUTO:
        able = device == "cpu" and any(torch.cpu.get_capabilities().get(name) for name in INSTRUCTIONS)
        return "bfloat16" if able and multiplies_in("bfloat16") else "float32"
    if precision not in PRECISIONS:
        raise InputError(f"precision {precision!r}", wanted=" or ".join([AUTO, *PRECISIONS]))
    if device == "cpu" and not multiplies_in(precision):
        raise InputError(
            f"{precision} products end the process on this CPU",
            wanted="a precision that it computes in",
            do="leave --precision out, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16, which does without AMX",
        )
    return precision
