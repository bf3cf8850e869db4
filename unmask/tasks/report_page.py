"""A report as a page: what is to be said in, one HTML file out that asks for nothing from elsewhere and runs no script.

Everything that comes from data is escaped, and the page's own policy forbids scripts and requests besides.
"""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from unmask.tasks import drawings
from unmask.tasks.report_parts import (
    Bars,
    Cell,
    Lines,
    Mark,
    Matrix,
    Part,
    Reliability,
    Report,
    Scatter,
    Score,
    Table,
)

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfb; --ink: #1f2328; --quiet: #5c6470; --line: #e3e5e8; --card: #f4f5f6;
  --first: #2563b0; --second: #c2570c; --good: #1a7f4b; --bad: #b3261e; --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e6e8ea; --quiet: #9aa3ad; --line: #33383e;
  --card: #1f2226; --first: #6ba6e8; --second: #eb9a5b; --good: #57b982; --bad: #ef8079; --on: #101214; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.25rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", "PingFang SC", "Noto Sans CJK SC", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; } h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
p { margin: .25rem 0 .75rem; } .note { color: var(--quiet); font-size: .9rem; }
.score { font-size: 2.6rem; font-weight: 650; line-height: 1.1; font-variant-numeric: tabular-nums; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 23rem), 1fr)); gap: 1rem;
  align-items: start; }
section { border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; min-width: 0; }
section.wide { grid-column: 1 / -1; }
.scroll { overflow: auto; max-height: 26rem; } .wide .scroll { max-height: none; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; white-space: nowrap; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.text { min-width: 11rem; } td.label { overflow-wrap: normal; }
svg { width: 100%; height: auto; display: block; } svg text { font-size: 12.5px; fill: var(--quiet); }
line.grid { stroke: var(--line); } line.axis { stroke: var(--quiet); }
line.ideal { stroke: var(--quiet); stroke-dasharray: 4 4; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; } .line.first { stroke: var(--first); }
.line.second { stroke: var(--second); stroke-dasharray: 6 4; }
.dot.first { fill: var(--first); } .dot.second { fill: var(--second); }
.dot { stroke: var(--paper); stroke-width: 1.5; }
.dot.faint { fill-opacity: .45; stroke: none; } .bar { fill: var(--first); }
.cell.right { fill: var(--first); } .cell.wrong { fill: var(--second); } .empty { fill: var(--card); }
svg text.count { fill: var(--ink); } svg text.inside { fill: var(--on); }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin: 0 .4em 0 1.2em; }
.key.first { background: var(--first); } .key.second { background: var(--second); }
.key:first-child { margin-left: 0; }
mark { color: inherit; background: none; border-radius: .2em; padding: 0 .15em; border-bottom: 2px solid; }
mark.right { border-color: var(--good); } mark.missed { border-color: var(--second); border-bottom-style: dashed; }
mark.wrong { border-color: var(--bad); border-bottom-style: double; border-bottom-width: 4px; }
mark.other { border-color: var(--bad); border-bottom-style: dotted; }
mark small { color: var(--quiet); font-size: .72em; }
mark small::before { content: " "; } details { margin-top: 1rem; }
summary { cursor: pointer; font-weight: 600; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
WORDS = {"right": "right", "missed": "expected, not given", "wrong": "given, not expected", "other": "otherwise"}


def page(report: Report) -> str:
    """The whole file."""
    parts = "".join(PARTS[type(part)](part) for part in report.parts)
    title = escape(report.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{title}</h1>{score(report.score, report.task)}\n"
        f'<div class="grid">{figures(report.figures)}{parts}</div>\n{settings(report.settings)}</body></html>\n'
    )


def score(found: Score, task: str) -> str:
    """The number that counts, and how far it can be trusted."""
    words = [f"{escape(named(found.metric))} on {found.examples:,} examples ({escape(task)})"]
    if found.interval is not None:
        low, high = found.interval
        words.append(f"95 % of resamplings of these examples lie between {low:.4f} and {high:.4f}")
    if found.chance is not None:
        words.append(f"guessing without reading gives {found.chance:.4f}")
    return f'<div class="score">{found.value:.4f}</div><p>{"; ".join(words)}.</p>'


def figures(scores: Mapping[str, float]) -> str:
    """All figures of the task."""
    rows = tuple((named(name), value) for name, value in scores.items())
    return table(Table("Figures", ("", "score"), rows))


def named(metric: str) -> str:
    """A figure's name for people.

    >>> named("macro_f1")
    'macro F1'
    """
    return " ".join("F1" if word == "f1" else word for word in metric.split("_"))


def table(part: Table) -> str:
    """A table; numbers to the right."""
    numeric = [
        bool(part.rows) and all(isinstance(row[at], int | float) for row in part.rows)
        for at in range(len(part.columns))
    ]
    head = "".join(
        f"<th{' class=number' if number else ''}>{escape(name)}</th>"
        for name, number in zip(part.columns, numeric, strict=True)
    )
    body = "".join(f"<tr>{''.join(cell(value) for value in row)}</tr>" for row in part.rows)
    shown = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return section(part.title, shown if part.rows else "", part.note, wide=part.wide)


def cell(value: Cell) -> str:
    """One cell.

    >>> cell(0.25), cell(3), cell("a<b")
    ('<td class="number">0.2500</td>', '<td class="number">3</td>', '<td class="label">a&lt;b</td>')
    """
    if isinstance(value, tuple):
        return f'<td class="text">{"".join(map(marked, value))}</td>'
    if isinstance(value, str):
        return f'<td class="{"text" if len(value) > 24 else "label"}">{escape(value)}</td>'
    if value is None:
        return "<td></td>"
    return f'<td class="number">{f"{value:,}" if isinstance(value, int) else f"{value:.4f}"}</td>'


def marked(mark: Mark) -> str:
    """A stretch of text.

    >>> marked(Mark("Rome", "wrong", "LOC"))
    '<mark class="wrong" title="given, not expected">Rome<small>LOC</small></mark>'
    """
    if not mark.kind:
        return escape(mark.text)
    note = f"<small>{escape(mark.note)}</small>" if mark.note else ""
    return f'<mark class="{mark.kind}" title="{WORDS[mark.kind]}">{escape(mark.text)}{note}</mark>'


def section(title: str, content: str, note: str = "", *, wide: bool = False) -> str:
    """A box with a heading."""
    told = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section{' class=wide' if wide else ''}><h2>{escape(title)}</h2>{told}{content}</section>\n"


def matrix(part: Matrix) -> str:
    """A confusion matrix."""
    return section(
        part.title,
        f'<div class="scroll">{drawings.matrix(part.labels, part.counts)}</div>',
        part.note,
        wide=len(part.labels) > MANY,
    )


MANY = 8  # labels of which a matrix needs the whole width


def reliability(part: Reliability) -> str:
    """A reliability diagram and its key."""
    curves = {
        name: [
            (sure, right, count)
            for sure, right, count in zip(found.confidences, found.accuracies, found.counts, strict=True)
            if count
        ]
        for name, found in part.calibrations.items()
    }
    kinds = drawings.kinds_of(len(curves))
    key = "".join(f'<span class="key {kind}"></span>{escape(name)}' for name, kind in zip(curves, kinds, strict=True))
    return section(part.title, (f"<p>{key}</p>" if len(curves) > 1 else "") + drawings.reliability(curves), part.note)


def lines(part: Lines) -> str:
    """A curve over the run."""
    return section(named(part.title), drawings.lines(part.curve, across="step", up=named(part.up)), part.note)


def scatter(part: Scatter) -> str:
    """Given values by expected ones."""
    return section(part.title, drawings.scatter(part.points, across="expected", up="given"), part.note)


def bars(part: Bars) -> str:
    """Counts by name."""
    return section(part.title, drawings.bars(part.counts, across=part.across, up=part.up), part.note)


def settings(given: Mapping[str, Any]) -> str:
    """How it was trained, folded away."""
    if not given:
        return ""
    rows = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in given.items()
    )
    return f"<details><summary>Settings</summary><table>{rows}</table></details>"


PARTS: dict[type[Part], Callable[[Any], str]] = {
    Table: table,
    Matrix: matrix,
    Reliability: reliability,
    Lines: lines,
    Scatter: scatter,
    Bars: bars,
}
