"""Small pictures as SVG: numbers in, the text of an `<svg>` out, which a page holds inline.

Colours are classes that the page's style sheet fills, so that a picture is right on a light and on a dark page. Every
mark has a `<title>`, which a browser shows when it is pointed at.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape

from unmask.tasks.report_parts import Curve

WIDTH, HEIGHT = 420, 270  # narrow, so that its letters can be read on a phone
LEFT, RIGHT, TOP, BOTTOM = 48, 408, 30, 228  # of the field in which marks stand
CELL, LETTER = 34, 7.2  # a cell of a matrix; how wide a letter is
MANY_POINTS = 60  # a line of more has no dots


class Field:
    """The field of a picture: where a pair of numbers lies on it."""

    def __init__(self, across: tuple[float, float], up: tuple[float, float]) -> None:
        self.across, self.up = _widened(across), _widened(up)

    def x(self, value: float) -> float:
        """How far from the left edge of the picture."""
        low, high = self.across
        return round(LEFT + (value - low) / (high - low) * (RIGHT - LEFT), 1)

    def y(self, value: float) -> float:
        """How far from its upper edge."""
        low, high = self.up
        return round(BOTTOM - (value - low) / (high - low) * (BOTTOM - TOP), 1)

    def levels(self) -> str:
        """Lines across the field at round numbers, which stand beside them."""
        return "".join(
            f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{self.y(at)}" y2="{self.y(at)}"/>'
            f'<text x="{LEFT - 6}" y="{self.y(at) + 4}" text-anchor="end">{short(at)}</text>'
            for at in ticks(*self.up)
        )

    def axes(self, across: str, up: str) -> str:
        """Levels, numbers below, and the names of both axes."""
        below = "".join(_below(self.x(at), short(at)) for at in ticks(*self.across))
        axis = f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>'
        return self.levels() + below + axis + _names(across, up)


def _below(x: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{BOTTOM + 17}" text-anchor="middle">{escape(text)}</text>'


def _names(across: str, up: str) -> str:
    return (
        f'<text x="{RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{escape(across)}</text>'
        f'<text x="{LEFT - 40}" y="{TOP - 16}">{escape(up)}</text>'
    )


def _widened(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = limits
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two limits.

    >>> ticks(0.0, 1.0), ticks(3, 870)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [200.0, 400.0, 600.0, 800.0])
    """
    raw = (high - low) / about
    power = 10.0 ** _exponent(raw)
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _exponent(number: float) -> int:
    """The power of ten just under a number.

    >>> _exponent(0.02), _exponent(173.0)
    (-2, 2)
    """
    return int(f"{number:e}".partition("e")[2])


def short(number: float) -> str:
    """A number as an axis or a table has it.

    >>> short(0.30000000000000004), short(12000.0), short(0.91234)
    ('0.3', '12,000', '0.9123')
    """
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.4f}".rstrip("0") if abs(number) >= 1e-3 else f"{number:.1e}"


def picture(content: str, label: str, width: float = WIDTH, height: float = HEIGHT) -> str:
    """The drawing with its size and what it shows, in words for those who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="{escape(label)}">{content}</svg>'
    )


def lines(curve: Curve, *, across: str, up: str) -> str:
    """A curve from left to right.

    >>> lines([(1, 0.5), (2, 0.7)], across="step", up="accuracy").count("<circle")
    2
    """
    values = [value for _, value in curve]
    field = Field((curve[0][0], curve[-1][0]), (min(values), max(values)))
    places = " ".join(f"{field.x(step)},{field.y(value)}" for step, value in curve)
    dots = _dots(field, curve, across) if len(curve) <= MANY_POINTS else ""
    return picture(
        field.axes(across, up) + f'<polyline class="line first" points="{places}"/>' + dots, f"{up} by {across}"
    )


def _dots(field: Field, curve: Curve, across: str) -> str:
    return "".join(
        _circle("first", field.x(at), field.y(value), 4, f"{escape(across)} {short(at)}: {short(value)}")
        for at, value in curve
    )


def scatter(points: Curve, *, across: str, up: str) -> str:
    """Points, and the line on which both numbers are the same."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    field = Field((min(xs), max(xs)), (min(ys), max(ys)))
    low, high = max(min(xs), min(ys)), min(max(xs), max(ys))
    same = f'<line class="ideal" x1="{field.x(low)}" y1="{field.y(low)}" x2="{field.x(high)}" y2="{field.y(high)}"/>'
    dots = "".join(
        _circle("faint first", field.x(x), field.y(y), 3, f"{escape(across)} {short(x)}, {escape(up)} {short(y)}")
        for x, y in points
    )
    return picture(field.axes(across, up) + (same if high > low else "") + dots, f"{up} by {across}")


def reliability(curves: Mapping[str, Sequence[tuple[float, float, int]]]) -> str:
    """How often answers were right by how sure they were, (sure, right, answers); a good model is on the diagonal."""
    field = Field((0.0, 1.0), (0.0, 1.0))
    content = field.axes("how sure", "how often right")
    content += f'<line class="ideal" x1="{field.x(0)}" y1="{field.y(0)}" x2="{field.x(1)}" y2="{field.y(1)}"/>'
    most = max((count for points in curves.values() for _, _, count in points), default=1)
    for (name, points), kind in zip(curves.items(), kinds_of(len(curves)), strict=True):
        places = " ".join(f"{field.x(sure)},{field.y(right)}" for sure, right, _ in points)
        content += f'<polyline class="line {kind}" points="{places}"/>'
        for sure, right, count in points:
            told = f"{escape(name)}: {count:,} answers, {sure:.0%} sure, {right:.0%} right"
            radius = 3 + 5 * (count / most) ** 0.5  # the area says how many
            content += _circle(kind, field.x(sure), field.y(right), radius, told)
    return picture(content, "how often answers were right by how sure they were")


def kinds_of(curves: int) -> tuple[str, ...]:
    """The colours of one curve, or of two of which the last counts."""
    return ("second", "first")[2 - curves :]


def _circle(kind: str, x: float, y: float, radius: float, told: str) -> str:
    return f'<circle class="dot {kind}" cx="{x}" cy="{y}" r="{radius:.1f}"><title>{told}</title></circle>'


def bars(counts: Mapping[str, int], *, across: str, up: str) -> str:
    """A bar for each name, from left to right.

    >>> bars({"1": 3, "2": 0}, across="pieces", up="texts").count("<rect")
    2
    """
    field = Field((0.0, float(len(counts))), (0.0, float(max(counts.values(), default=0) or 1)))
    width = field.x(1) - field.x(0)
    every = -(-len(counts) // 8)  # more names would stand over each other
    content = field.levels() + _names(across, up)
    for number, (name, count) in enumerate(counts.items()):
        left, high = field.x(number), field.y(count)
        content += (
            f'<rect class="bar" x="{left + 1:.1f}" y="{high}" width="{max(width - 2, 1):.1f}" '
            f'height="{BOTTOM - high:.1f}" rx="2"><title>{escape(name)}: {count:,}</title></rect>'
        )
        content += _below(left + width / 2, name) if number % every == 0 else ""
    return picture(content, f"{up} by {across}")


def matrix(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """Expected labels downwards, given ones across; a cell is the darker the more of its row it holds.

    >>> matrix(["no", "yes"], [[3, 1], [0, 4]]).count("<rect")
    4
    """
    names = [label if len(label) <= 18 else label[:17] + "…" for label in labels]
    margin = max(12 + LETTER * max(map(len, names)), 60)
    content = "".join(
        _row(number, name, row, labels, margin) for number, (name, row) in enumerate(zip(names, counts, strict=True))
    )
    for number, name in enumerate(names):
        x = margin + (number + 0.5) * CELL
        content += f'<text transform="translate({x + 4:.0f} {margin - 6:.0f}) rotate(-60)">{escape(name)}</text>'
    side = margin + CELL * len(labels)
    return picture(content, "given labels by expected ones", side + 0.55 * margin, side + 4)


def _row(number: int, name: str, row: Sequence[int], labels: Sequence[str], margin: float) -> str:
    y, total = margin + number * CELL, max(sum(row), 1)
    content = f'<text x="{margin - 6:.0f}" y="{y + CELL / 2 + 4:.0f}" text-anchor="end">{escape(name)}</text>'
    for place, count in enumerate(row):
        told = f"{escape(labels[number])} expected, {escape(labels[place])} given: {count:,} ({count / total:.0%})"
        kind = "right" if place == number else "wrong"
        content += f"<g><title>{told}</title>{_cell(margin + place * CELL, y, count, count / total, kind)}</g>"
    return content


def _cell(x: float, y: float, count: int, share: float, kind: str) -> str:
    square = f'x="{x:.0f}" y="{y:.0f}" width="{CELL - 2}" height="{CELL - 2}" rx="3"'
    if not count:
        return f'<rect class="empty" {square}/>'
    shade = "inside" if share > 0.62 else "count"  # letters on a dark cell are light
    return (
        f'<rect class="cell {kind}" {square} fill-opacity="{0.12 + 0.88 * share:.2f}"/><text class="{shade}" '
        f'x="{x + CELL / 2 - 1:.0f}" y="{y + CELL / 2 + 4:.0f}" text-anchor="middle">{_short_count(count)}</text>'
    )


def _short_count(count: int) -> str:
    """A count that fits into a cell.

    >>> _short_count(873), _short_count(12_345)
    ('873', '12k')
    """
    return str(count) if count < 10_000 else f"{count // 1000}k"
