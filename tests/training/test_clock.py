import subprocess
import sys
import time


def test_a_process_knows_when_it_was_started() -> None:
    """Its age counts what came before its first line, and is no more than its parent saw."""
    code = "import os, time; time.sleep(0.3); from unmask.training.clock import process_age\n"
    code += "print(process_age(os.getpid()))"
    started = time.monotonic()
    age = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0.3 <= age <= time.monotonic() - started + 0.02  # the system counts in hundredths of a second
