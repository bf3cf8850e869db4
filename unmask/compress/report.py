"""What compression gained and what it cost: folders and examples in; size, cold start, latency, rate and score out.

Every variant is timed in processes of its own, in turns with the others, so that a machine that is busy for a while is
busy for all of them; medians are reported. A table for people, JSON for programs, a picture of the trade-off.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from unmask.compress.timing import Timed, time_folder
from unmask.files import atomic_path, write_text

ROUNDS = 3
JSON, PICTURE = "compression.json", "compression.png"


@dataclass(frozen=True)
class Measured:
    """One variant in figures."""

    name: str
    folder: str
    engine: str
    bytes: int
    cold_start: float  # seconds from the start of a process to its first answer
    p50: float  # milliseconds for a text asked alone
    p95: float
    texts_per_second: float  # asked together
    metric: str | None = None
    score: float | None = None


def measure(
    folders: Mapping[str, Path],
    sizes: Mapping[str, int],
    examples: Sequence[Any],
    *,
    scores: Mapping[str, tuple[str, float]] | None = None,
    rounds: int = ROUNDS,
    note: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """The figures of variants by name, timed in turns."""
    timed: dict[str, list[Timed]] = {name: [] for name in folders}
    for turn in range(rounds):
        note(f"timing {len(folders)} variants, turn {turn + 1} of {rounds}")
        for name, folder in folders.items():
            timed[name].append(time_folder(folder, examples))
    known = scores or {}
    return [
        _measured(name, str(folders[name]), sizes[name], timed[name], *known.get(name, (None, None)))
        for name in folders
    ]


def _measured(
    name: str, folder: str, size: int, timed: Sequence[Timed], metric: str | None, score: float | None
) -> Measured:
    singles = [np.percentile(one.singles, (50, 95)) * 1000 for one in timed]
    return Measured(
        name,
        folder,
        timed[0].engine,
        size,
        cold_start=round(median(one.cold_start for one in timed), 3),
        p50=round(median(float(one[0]) for one in singles), 3),
        p95=round(median(float(one[1]) for one in singles), 3),
        texts_per_second=round(median(one.rate for one in timed), 2),
        metric=metric,
        score=score,
    )


def write_report(folder: Path, measured: Sequence[Measured], **more: Any) -> None:
    """Writes `compression.json` and `compression.png` into a folder."""
    told = {**more, "variants": [asdict(one) for one in measured]}
    write_text(folder / JSON, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    draw(measured, folder / PICTURE)


def table(measured: Sequence[Measured]) -> str:
    """The figures as lines for people, the first variant's as the measure of the others.

    >>> print(table([Measured("small", "s", "torch", 2_000_000, 1.5, 3.0, 4.0, 200.0, "accuracy", 0.9)]))
    variant     MB  cold start      p50      p95  texts/s  faster  accuracy
    small      2.0      1.50 s   3.0 ms   4.0 ms      200    1.0x    0.9000
    """
    metric = measured[0].metric or ""
    width = max(len("variant"), *(len(one.name) for one in measured))
    head = f"{'variant':<{width}} {'MB':>6}  {'cold start':>10} {'p50':>8} {'p95':>8} {'texts/s':>8}  {'faster':>6}"
    lines = [f"{head}  {metric}".rstrip()]
    for one in measured:
        faster = one.texts_per_second / measured[0].texts_per_second
        score = "" if one.score is None else f"  {one.score:>{len(metric)}.4f}"
        times = f"{one.cold_start:>8.2f} s {one.p50:>5.1f} ms {one.p95:>5.1f} ms"
        rates = f"{one.texts_per_second:>8.0f}  {faster:>5.1f}x{score}"
        lines.append(f"{one.name:<{width}} {one.bytes / 1e6:>6.1f}  {times} {rates}")
    return "\n".join(lines)


def draw(measured: Sequence[Measured], path: Path) -> None:
    """Draws score (or size) over speed; the area of a point is the size on disk."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    scored = all(one.score is not None for one in measured)
    heights = [100 * (one.score or 0.0) if scored else one.bytes / 1e6 for one in measured]
    largest = max(one.bytes for one in measured)
    areas = [20 + 600 * one.bytes / largest for one in measured]
    axes.scatter([one.texts_per_second for one in measured], heights, s=areas, color="#4878a8", alpha=0.6)
    for one, height in zip(measured, heights, strict=True):
        axes.annotate(f"{one.name}\n{one.bytes / 1e6:.1f} MB", (one.texts_per_second, height), fontsize=8)
    axes.set(xscale="log", xlabel="texts a second", ylabel=f"{measured[0].metric}, %" if scored else "MB")
    axes.margins(0.2)
    axes.spines[["top", "right"]].set_visible(False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
