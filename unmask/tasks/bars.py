"""Shares by name as a picture: a mapping in, a bar chart as PNG (or whatever the file's ending says) out."""

from collections.abc import Mapping
from pathlib import Path

from unmask.errors import InputError
from unmask.files import atomic_path


def draw_bars(shares: Mapping[str, float], path: Path, *, title: str, chance: float | None = None) -> None:
    """Draws one bar for each share, the highest on top, and a line where guessing would be."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = sorted(shares, key=shares.__getitem__)
    figure = Figure(figsize=(7, 1.2 + 0.28 * len(names)), layout="constrained")
    axes = figure.add_subplot()
    bars = axes.barh(
        [name.replace("_", " ") for name in names], [100 * shares[name] for name in names], color="#4878a8"
    )
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    if chance is not None:
        axes.axvline(100 * chance, color="#999999", linestyle="--", linewidth=1)
    axes.set(xlim=(0, 105), xlabel="right, %", title=title)
    axes.spines[["top", "right"]].set_visible(False)
    ending = path.suffix.removeprefix(".")
    if ending not in FigureCanvasAgg.get_supported_filetypes():
        raise InputError(f"picture {path.name}", wanted="a file ending in .png, .svg or .pdf")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=ending, dpi=150)
