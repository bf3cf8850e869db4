"""What all pages of explanations share: a title and pieces of HTML in, one file's text out, whole in itself.

A page's own policy forbids scripts and requests; whoever makes pieces escapes what comes from data.
"""

from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfb; --ink: #1f2328; --quiet: #5c6470; --line: #e3e5e8;
  --look: #2563b0; --other: #c2570c; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e6e8ea; --quiet: #9aa3ad; --line: #33383e;
  --look: #6ba6e8; --other: #eb9a5b; } }
body { margin: 0 auto; max-width: 62rem; padding: 1.25rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", "PingFang SC", "Noto Sans CJK SC", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; } .note { color: var(--quiet); font-size: .9rem; }
svg { max-width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--ink); }
svg path { fill: none; stroke: var(--look); } .frame { fill: none; stroke: var(--line); stroke-width: .2; }
.look { stroke-width: 2; } .cells { stroke-width: 1; }
.heads { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; } figcaption { color: var(--quiet); }
details { margin: .75rem 0; } summary { cursor: pointer; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .6rem; border-bottom: 1px solid var(--line); font-weight: 400; }
th:first-child, th.text, td.text { text-align: left; } td.most { font-weight: 650; color: var(--look); }
del { color: var(--other); } ins { color: var(--look); text-decoration: none; font-weight: 650; }
line.grid { stroke: var(--line); } line.axis, line.ideal { stroke: var(--quiet); }
line.ideal { stroke-dasharray: 4 4; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.line.first { stroke: var(--look); } .line.second { stroke: var(--other); stroke-dasharray: 6 4; }
.dot { stroke: var(--paper); stroke-width: 1.5; }
.dot.first { fill: var(--look); } .dot.second { fill: var(--other); }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def sheet(title: str, pieces: Sequence[str]) -> str:
    """The whole file.

    >>> "<title>Why &lt;b&gt;?</title>" in sheet("Why <b>?", [])
    True
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *pieces,
            "</body></html>",
            "",
        ]
    )
