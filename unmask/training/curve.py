"""The learning curve of a run. In: the journal's events. Out: a picture (PNG), or lines of text for a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.files import atomic_path

Curve = tuple[Sequence[float], Sequence[float]]  # steps, values


def smooth(values: Sequence[float], window: int) -> NDArray[np.float64]:
    """The mean of the last `window` values at each point.

    >>> smooth([4.0, 2.0, 0.0], 2)
    array([4., 3., 1.])
    """
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - window)
    smoothed: NDArray[np.float64] = (sums[ends] - sums[starts]) / (ends - starts)
    return smoothed


def curves(events: Sequence[Mapping[str, Any]], figure: str) -> dict[str, Curve]:
    """A figure's course in training, smoothed, and on held-out text."""
    training = [(event["step"], event[figure]) for event in events if figure in event]
    held_out = [(e["step"], e["held_out"][figure]) for e in events if figure in e.get("held_out", {})]
    steps, values = zip(*training, strict=True)
    found: dict[str, Curve] = {"training": (steps, smooth(values, max(1, len(values) // 50)).tolist())}
    if held_out:
        places, points = zip(*held_out, strict=True)
        found["held out"] = (places, points)
    return found


def draw(path: Path, lines: Mapping[str, Curve], *, label: str, levels: Mapping[str, float], title: str = "") -> None:
    """Draws curves over steps, with horizontal lines to compare with, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, (steps, values) in lines.items():
        axes.plot(steps, values, label=name, marker="o" if len(steps) < 60 else None, markersize=3)
    for name, level in levels.items():
        axes.axhline(level, linestyle="--", color="grey", linewidth=1, label=f"{name} {level:.2f}")
    axes.set(xlabel="step", ylabel=label, title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def in_words(curve: Curve, *, level: float | None = None, width: int = 60, height: int = 10) -> str:
    """The same for a terminal: one mark a column, and dots where the level to compare with lies."""
    steps, values = np.array(curve[0], dtype=float), np.array(curve[1], dtype=float)
    columns = np.interp(np.linspace(steps[0], steps[-1], width), steps, values)
    shown = columns if level is None else np.append(columns, level)
    low, high = float(shown.min()), float(shown.max())
    span = max(high - low, 1e-9)
    rows = np.round((high - columns) / span * (height - 1)).astype(int)
    level_row = None if level is None else round((high - level) / span * (height - 1))
    lines = []
    for row in range(height):
        cells = ["●" if at == row else ("·" if row == level_row else " ") for at in rows]
        lines.append(f"{high - span * row / (height - 1):7.2f} ┤{''.join(cells)}")
    lines.append(" " * 8 + "└" + "─" * width + f" {int(steps[-1]):,} steps")
    return "\n".join(lines)
