"""An experiment's rows for people: a table in words, a Markdown report beside the paper's numbers, and a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.files import atomic_path, write_text
from unmask.lab.paper_tables import TABLES, PaperTable

REPORT, PICTURE = "report.md", "table.png"
COSTS = ("steps", "tokens", "seconds")
HEADINGS = {
    "mlm_loss": "masked-word loss",
    "mlm_accuracy": "masked words found %",
    "nsp_accuracy": "next sentence %",
    "clm_loss": "next-word loss",
    "score": "fine-tuned %",
    "feature_score": "features %",
    "similarity": "word similarity %",
    "parameters": "weights",
    "perplexity": "masked-word perplexity",
}
SHARES = ("mlm_accuracy", "nsp_accuracy", "score", "feature_score", "similarity")
TITLES = {
    "objectives": "What the objectives bring",
    "sizes": "What size brings",
    "features": "Fine-tuning or features",
    "masking": "How hidden words are best hidden",
    "ancestors": "BERT and its ancestors",
}
SCALES = (
    "The published models read billions of words for days; these read what the table says. Compare the order of the "
    "rows and what lies between them, not the numbers."
)

Rows = Sequence[Mapping[str, Any]]


def shown(column: str, value: float | None) -> str:
    """A figure as people read it.

    >>> shown("score", 0.8125), shown("mlm_loss", 5.0), shown("tokens", 12000), shown("score", None)
    ('81.2', '5.000', '12,000', '')
    """
    if value is None:
        return ""
    if column in SHARES:
        return f"{100 * value:.1f}"
    if column == "seconds":
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if value < 100 else f"{value:,.0f}"


def filled(columns: Sequence[str], rows: Rows) -> list[str]:
    """The columns in which some row has a figure, and what each row cost.

    >>> filled(["mlm_loss", "score"], [{"mlm_loss": 4.0, "score": None}])
    ['mlm_loss', 'steps', 'tokens', 'seconds']
    """
    return [column for column in columns if any(row.get(column) is not None for row in rows)] + list(COSTS)


def in_words(columns: Sequence[str], rows: Rows) -> str:
    """The table for a terminal.

    >>> print(in_words(["score"], [{"name": "BERT", "score": 0.5, "steps": 9, "tokens": 80, "seconds": 1.2}]))
          fine-tuned %  steps  tokens  seconds
    BERT          50.0      9      80        1
    """
    kept = filled(columns, rows)
    lines = [["", *(HEADINGS.get(column, column) for column in kept)]]
    lines += [[row["name"], *(shown(column, row.get(column)) for column in kept)] for row in rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(kept) + 1)]
    first, *others = widths
    return "\n".join(
        "  ".join([line[0].ljust(first), *(cell.rjust(width) for cell, width in zip(line[1:], others, strict=True))])
        for line in lines
    )


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(markdown(["", "a"], [["x", "1"]]))
    |  | a |
    |---|---:|
    | x | 1 |
    """
    rule = "|---" + "|---:" * (len(heads) - 1) + "|"
    return "\n".join([_line(heads), rule, *(_line(line) for line in lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_report(folder: Path, experiment: str, columns: Sequence[str], rows: Rows, notes: Sequence[str]) -> None:
    """`report.md`: this run's table, the paper's, and each row's settings."""
    kept = filled(columns, rows)
    heads = ["", *(HEADINGS.get(column, column) for column in kept)]
    lines = [[row["name"], *(shown(column, row.get(column)) for column in kept)] for row in rows]
    parts = [
        f"# {TITLES[experiment]}",
        markdown(heads, lines),
        *notes,
        f"![the table as bars]({PICTURE})",
        _published(TABLES[experiment]),
        "## Settings",
        "\n".join(f"- **{row['name']}**: {_told(row['settings'])}" for row in rows),
    ]
    write_text(folder / REPORT, "\n\n".join(parts) + "\n")


def _published(table: PaperTable) -> str:
    return f"## The paper's numbers ({table.source})\n\n{SCALES}\n\n{markdown(['', *table.columns], table.rows)}"


def _told(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)


def draw(path: Path, experiment: str, columns: Sequence[str], rows: Rows) -> None:
    """A bar for each row in every column that is filled."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kept = [column for column in filled(columns, rows) if column not in COSTS] or ["seconds"]
    figure = Figure(figsize=(3.2 + 2.6 * len(kept), 1.4 + 0.34 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    names = [row["name"] for row in rows]
    for place, (axes, column) in enumerate(zip(figure.subplots(1, len(kept), squeeze=False)[0], kept, strict=True)):
        values = [row.get(column) or 0.0 for row in rows]
        bars = axes.barh(range(len(rows)), values, color="#4878a8")
        axes.bar_label(bars, labels=[shown(column, row.get(column)) for row in rows], padding=3, fontsize=8)
        axes.set_yticks(range(len(rows)), names if place == 0 else [""] * len(names))
        axes.set(title=HEADINGS.get(column, column), xticks=[], xlim=(min(0.0, *values), 1.3 * max(*values, 1e-9)))
        axes.invert_yaxis()
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    figure.suptitle(TITLES[experiment])
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
