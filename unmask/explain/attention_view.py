"""What every head attends to, drawn: a whole-model view, a view of each head, and a table that sums heads up.

A subject's row comes in; SVG and HTML go out that ask for nothing from elsewhere and run no script.
"""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from unmask.explain.heads import KINDS, summary
from unmask.explain.rollout import attention_of
from unmask.explain.subject import Subject

LEVELS = 6  # shades of a small map; each is one path, so that a model of 144 heads stays a small file
FAINTEST_LINE = 0.04  # of a token's attention; fainter lines would only blur the others
CELL, LINE, WIDE = 4, 18, 150  # pixels: a token of a small map, a token's line in a head view, between the two sides

Maps = NDArray[np.float64]


def attention_view(subject: Subject, row: int = 0) -> str:
    """All views of one row, as a piece of a page."""
    pieces = [subject.tokenizer.pieces[id] for id in subject.reading.rows[row].ids]
    first = int(subject.reading.lengths[:row].sum())
    words = subject.reading.numbers[first : first + len(pieces)]
    layers = [maps.double().cpu().numpy() for maps in attention_of(subject, row)]
    return "\n".join(
        [
            "<h2>What each head attends to</h2>",
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
    left = 10 + 8 * max(len(piece) for piece in pieces)
    names = []
    for number, piece in enumerate(pieces):
        y = LINE * number + 14
        names.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{escape(piece)}</text>')
        names.append(f'<text x="{left + WIDE + 6}" y="{y}">{escape(piece)}</text>')
    lines = [
        f'<line class="look" x1="{left}" y1="{LINE * looking + 10}" x2="{left + WIDE}" y2="{LINE * seen + 10}" '
        f'stroke-opacity="{map_[looking, seen]:.2f}"><title>{escape(pieces[looking])} → {escape(pieces[seen])}: '
        f"{map_[looking, seen]:.3f}</title></line>"
        for looking, seen in np.argwhere(map_ >= FAINTEST_LINE).tolist()
    ]
    drawing = _svg("".join(lines + names), 2 * left + WIDE, LINE * len(pieces) + 8)
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawing}</figure>"


def _shades(map_: Maps) -> str:
    """The cells of a map, a path for each shade; a cell's shade grows with the root, so that spread attention shows."""
    shades = np.rint(np.sqrt(map_) * LEVELS).astype(int)
    paths = []
    for level in range(1, LEVELS + 1):
        cells = np.argwhere(shades == level).tolist()
        if cells:
            steps = "".join(f"M{column} {row}h1v1h-1z" for row, column in cells)
            paths.append(f'<path fill-opacity="{level / LEVELS:.2f}" d="{steps}"/>')
    return "".join(paths)


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
