"""An explanation as a page: an `Explanation` and its subject in, one HTML file's text out, whole in itself.

The page's own policy forbids scripts and requests; everything that comes from data is escaped where it is drawn.
"""

from collections.abc import Sequence
from html import escape

from unmask.explain.attention_view import attention_view
from unmask.explain.explanation import Explanation
from unmask.explain.subject import Subject

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfb; --ink: #1f2328; --quiet: #5c6470; --line: #e3e5e8;
  --look: #2563b0; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e6e8ea; --quiet: #9aa3ad; --line: #33383e;
  --look: #6ba6e8; } }
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
th:first-child { text-align: left; } td.most { font-weight: 650; color: var(--look); }
"""
MOST_ROWS = 2  # of which attention is shown: both texts of a pair; of many windows or endings the first
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def explanation_page(explanation: Explanation, subject: Subject, more: Sequence[str] = ()) -> str:
    """The page of an explanation, with what each head attends to; `more` are further pieces of it."""
    rows = min(len(subject.reading.rows), MOST_ROWS) if subject.model.bert.layers else 0
    views = [attention_view(subject, row) for row in range(rows)]
    pieces = [f"<h1>Why {escape(explanation.label)}?</h1>", explanation._repr_html_(), *more, *views]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>Why {escape(explanation.label)}?</title><style>{STYLE}</style></head><body>",
            *pieces,
            "</body></html>",
            "",
        ]
    )
