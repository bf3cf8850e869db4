"""How long a process has been running: a budget of time begins with the command, not with its first line of code."""

import os
import time
from pathlib import Path


def process_age(process: int) -> float:
    """Seconds since a process was started; 0 where the system does not say (no Linux).

    >>> 0 <= process_age(os.getpid()) <= process_age(os.getppid())
    True
    """
    try:
        after_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        started = int(after_name.split()[19]) / os.sysconf("SC_CLK_TCK")  # seconds after the machine's start
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, AttributeError):
        return 0.0
