import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.training.memory import HUGE_PAGES

PROGRAM = """
import torch
from unmask.training import memory
from unmask.training.memory import give_back, use_again

EVERY = memory.EVERY = 20

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) // 1024

def step(number):  # tensors of ever other sizes, as the steps of ragged batches have them
    kept = [torch.ones(200_000 + 997 * ((31 * number + i) % 100)) for i in range(40)]
    return [part * 2 for part in kept[::2]]

if KEEPING:
    use_again()
for number in range(1, 10 * EVERY + 1):
    step(number)
    give_back(number)
    if number == 2 * EVERY:
        early = resident()
print(resident() - early)
"""


FAULTS = """
import resource
import torch
from unmask.training.memory import use_again

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.ones(12_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

fresh = faults()
use_again()
print(fresh, min(faults() for _ in range(4)))
"""


def said(program: str) -> list[int]:
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [int(word) for word in found.stdout.split()]


@pytest.mark.parametrize("keeping", [False, True])
def test_memory_stays_flat_over_steps_of_changing_size(keeping: bool) -> None:
    [megabytes] = said(f"KEEPING = {keeping}\n{PROGRAM}")
    assert megabytes < 20


def test_large_blocks_are_used_again() -> None:
    fresh, again = said(FAULTS)
    assert again < fresh / 10


HUGE = """
import sys
import torch
from unmask.training.memory import use_huge_pages

if len(sys.argv) > 1:
    use_huge_pages()
large = torch.ones(16 << 20)
with open("/proc/self/smaps_rollup") as rollup:
    print(next(int(line.split()[1]) for line in rollup if line.startswith("AnonHugePages")) // 1024)
"""


def test_tensors_lie_in_huge_pages_where_the_system_has_them() -> None:
    allowed = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not allowed.exists() or "[madvise]" not in allowed.read_text():
        pytest.skip("this system gives huge pages to all or to none")
    environment = {name: value for name, value in os.environ.items() if name != HUGE_PAGES[0]}
    megabytes = []
    for asked in ([], ["asked"]):
        command = [sys.executable, "-c", HUGE, *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        megabytes.append(int(done.stdout))
    assert megabytes[0] < 32 <= megabytes[1] <= 64
