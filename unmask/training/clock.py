"""How long this process has been running: a budget of time begins with the command, not with its first line of code."""

import os
import time
from pathlib import Path


def process_age() -> float:
    """Seconds since the process was started; 0 where the system does not say (no Linux).

    >>> 0 <= process_age() < 1e7
    True
    """
    try:
        after_name = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        started = int(after_name.split()[19]) / os.sysconf("SC_CLK_TCK")  # seconds after the machine's start
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, AttributeError):
        return 0.0
