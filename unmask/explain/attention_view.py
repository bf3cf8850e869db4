"""What every head attends to, drawn: a whole-model view, a view of each head, and a table that sums heads up.

A subject's row comes in; SVG and HTML go out that ask for nothing from elsewhere and run no script.
"""

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from unmask.explain.heads import KINDS, summary
from unmask.explain.rollout import attention_of
from unmask.explain.subject import Subject

LEVELS = 12  # of attention; each is one path of a picture, so that a model of 144 heads stays a small file
FAINTEST_LINE = 0.06  # of a token's attention; fainter lines would only blur the others
FIRST_WIDE = "\u2e80"  # characters from here on, Chinese ones among them, are as wide as they are high
CELL, LINE, WIDE = 4, 18, 150  # pixels: a token of a small map, a token's line in a head view, between the two sides

Maps = NDArray[np.float64]


def attention_view(subject: Subject, row: int = 0) -> str:
    """All views of one row, as a piece of a page."""
    pieces = [subject.tokenizer.pieces[id] for id in subject.reading.rows[row].ids]
    first = int(subject.reading.lengths[:row].sum())
    words = subject.reading.numbers[first : first + len(pieces)]
    rows = len(subject.reading.rows)
    title = f" in sequence {row + 1} of {rows}" if rows > 1 else ""
    layers = [maps.double().cpu().numpy() for maps in attention_of(subject, row)]
    return "\n".join(
        [
            f"<h2>What each head attends to{title}</h2>",
            "<p class='note'>Rows are tokens that look, columns are tokens looked at; the darker, the more.</p>",
            model_view(layers),
            _table(layers, words, pieces),
            *[
                f"<details><summary>layer {number + 1}</summary><div class='heads'>"
                + "".join(head_view(map_, pieces, f"head {head + 1}") for head, map_ in enumerate(maps))
                + "</div></details>"
                for number, maps in enumerate(layers)
            ],
        ]
    )


def model_view(layers: Sequence[Maps]) -> str:
    """Every head of every layer as a small map, a line of maps for each layer."""
    size, gap, left = CELL * layers[0].shape[-1], 6, 34
    most = max(len(maps) for maps in layers)
    drawn = []
    for layer, maps in enumerate(layers):
        top = layer * (size + gap)
        drawn.append(f'<text x="0" y="{top + size / 2 + 4:.0f}">L{layer + 1}</text>')
        for head, map_ in enumerate(maps):
            title = f"<title>layer {layer + 1}, head {head + 1}</title>"
            place = f'transform="translate({left + head * (size + gap)} {top}) scale({CELL})"'
            frame = f'<rect class="frame" width="{size // CELL}" height="{size // CELL}"/>'
            drawn.append(f"<g {place}>{title}{frame}{_shades(map_)}</g>")
    return _svg("".join(drawn), left + most * (size + gap), len(layers) * (size + gap))


def head_view(map_: Maps, pieces: Sequence[str], title: str) -> str:
    """One head: a line from each token that looks to each that it looks at, the stronger the more."""
    left = 10 + max(sum(13 if character >= FIRST_WIDE else 8 for character in piece) for piece in pieces)
    names = []
    for number, piece in enumerate(pieces):
        y = LINE * number + 14
        names.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{escape(piece)}</text>')
        names.append(f'<text x="{left + WIDE + 6}" y="{y}">{escape(piece)}</text>')
    lines = [
        f'<path stroke-opacity="{opacity:.2f}" d="'
        + "".join(f"M{left} {LINE * token + 10}L{left + WIDE} {LINE * seen + 10}" for token, seen in cells)
        + '"/>'
        for opacity, cells in _levels(np.where(map_ < FAINTEST_LINE, 0, map_))
    ]
    drawing = _svg(f'<g class="look">{"".join(lines)}</g>{"".join(names)}', 2 * left + WIDE, LINE * len(pieces) + 8)
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawing}</figure>"


def _shades(map_: Maps) -> str:
    """The cells of a map as strokes, neighbours of one shade as one; a shade grows with the root of the attention."""
    drawn = []
    for opacity, cells in _levels(np.sqrt(map_)):
        flat = np.array([token * (len(map_) + 1) + seen for token, seen in cells])  # a line's end touches no next line
        runs = np.split(flat, np.flatnonzero(np.diff(flat) > 1) + 1)
        steps = "".join(f"M{run[0] % (len(map_) + 1)} {run[0] // (len(map_) + 1)}h{len(run)}" for run in runs)
        drawn.append(f'<path stroke-opacity="{opacity:.2f}" d="{steps}"/>')
    return f'<g class="cells" transform="translate(0 .5)">{"".join(drawn)}</g>'


def _levels(map_: Maps) -> Iterator[tuple[float, list[list[int]]]]:
    """The cells of each level of a map, from 0 to 1, that is not nothing."""
    levels = np.rint(map_ * LEVELS).astype(int)
    for level in range(1, LEVELS + 1):
        cells = np.argwhere(levels == level).tolist()
        if cells:
            yield level / LEVELS, cells


def _table(layers: Sequence[Maps], words: NDArray[np.int64], pieces: Sequence[str]) -> str:
    """What heads attend to, in shares; a head that gives most of its attention to one kind is marked."""
    lines = []
    for layer, maps in enumerate(layers):
        for head, map_ in enumerate(maps):
            shares = summary(map_, words, pieces)
            cells = "".join(
                f"<td class='{'most' if share > 0.5 else ''}'>{share:.0%}</td>" for share in shares.values()
            )
            lines.append(f"<tr><th>layer {layer + 1}, head {head + 1}</th>{cells}</tr>")
    names = "".join(f"<th>{escape(kind)}</th>" for kind in KINDS)
    table = f"<table><tr><th></th>{names}</tr>{''.join(lines)}</table>"
    return f"<details><summary>heads in figures</summary>{table}</details>"


def _svg(inner: str, width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">{inner}</svg>'
