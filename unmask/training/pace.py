"""How far a step is along the training. With a time budget the number of steps is measured, and again on the way.

A pace maps the steps really taken to the steps of the schedule: learning rate and phases follow the schedule, so that
they end when the time does, whatever the machine does in between. It is saved, and a resumed run keeps to it.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from unmask.files import write_text

# shares of the schedule, and of the time, after which the speed is measured again
CHECKED_AT = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99)
FEWEST_RECENT = 10  # steps that a speed is taken from


@dataclass(frozen=True)
class Pace:
    """Knots (step taken, step of the schedule), joined by straight lines.

    >>> pace = Pace.of(100).again(50, remaining=25)  # the machine turned out slower
    >>> pace.steps, pace.scheduled(50), pace.scheduled(51), pace.scheduled(75)
    (75, 50.0, 52.0, 100.0)
    """

    knots: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, steps: int) -> "Pace":
        """A pace in which every step is a step of the schedule."""
        return cls(((0, 0.0), (steps, float(steps))))

    @property
    def steps(self) -> int:
        """How many steps will be taken."""
        return self.knots[-1][0]

    @property
    def schedule_steps(self) -> int:
        """How many steps the schedule has."""
        return int(self.knots[-1][1])

    def scheduled(self, step: int) -> float:
        """Where a step lies in the schedule."""
        right = min(max(bisect_right(self.knots, (step, float("inf"))), 1), len(self.knots) - 1)
        (x0, y0), (x1, y1) = self.knots[right - 1], self.knots[right]
        if step >= x1 > x0:
            return y1  # exactly, which the sum below may miss by its last digit
        return min(y1, y0 + (y1 - y0) * (step - x0) / max(1, x1 - x0))

    def share(self, step: int) -> float:
        """How much of the schedule is done after a number of steps, from 0 to 1."""
        return self.scheduled(step) / self.schedule_steps

    def is_check(self, step: int) -> bool:
        """Whether the speed is to be measured again after this step: the first one beyond each checking point."""
        return passes_check(self.share(step - 1), self.share(step))

    def again(self, step: int, remaining: int) -> "Pace":
        """The same up to `step`; what is left of the schedule is spread over the remaining steps, if there are any."""
        kept = tuple(knot for knot in self.knots if knot[0] < step)
        return Pace((*kept, (step, self.scheduled(step)), (step + max(0, remaining), float(self.schedule_steps))))

    def save(self, path: Path) -> None:
        """Writes the pace for a later sitting."""
        write_text(path, json.dumps({"knots": self.knots}) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Pace":
        """Reads the pace of an earlier sitting."""
        knots = json.loads(path.read_text(encoding="utf-8"))["knots"]
        return cls(tuple((int(step), float(scheduled)) for step, scheduled in knots))


def passes_check(before: float, after: float) -> bool:
    """Whether a checking point lies between two shares.

    >>> passes_check(0.2, 0.24), passes_check(0.24, 0.25)
    (False, True)
    """
    return any(before < point <= after for point in CHECKED_AT)


def recent_step(seconds: Sequence[float], *, within: float) -> float:
    """How long a step takes now: the mean of the last ones, as many as took `within` seconds together, ten at least.

    >>> recent_step([1.0] * 20 + [3.0] * 20, within=45.0)
    3.0
    """
    last = list(accumulate(reversed(seconds)))
    count = max(FEWEST_RECENT, bisect_right(last, within))
    return last[min(count, len(last)) - 1] / min(count, len(last))
