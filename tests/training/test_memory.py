import subprocess
import sys

PROGRAM = """
import torch
from unmask.training.memory import EVERY, give_back

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) // 1024

def step(number):  # tensors of ever other sizes, as the steps of ragged batches have them
    kept = [torch.ones(200_000 + 997 * ((31 * number + i) % 100)) for i in range(40)]
    return [part * 2 for part in kept[::2]]

for number in range(1, 10 * EVERY + 1):
    step(number)
    give_back(number)
    if number == 2 * EVERY:
        early = resident()
print(resident() - early)
"""


def test_memory_stays_flat_over_steps_of_changing_size() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 20  # megabytes
