"""An explanation as a page: an `Explanation` and its subject in, one HTML file's text out, whole in itself."""

from collections.abc import Sequence

from unmask.explain.attention_view import attention_view
from unmask.explain.explanation import Explanation
from unmask.explain.sheet import sheet
from unmask.explain.subject import Subject

MOST_ROWS = 2  # of which attention is shown: both texts of a pair; of many windows or endings the first


def explanation_page(explanation: Explanation, subject: Subject, more: Sequence[str] = ()) -> str:
    """The page of an explanation, with what each head attends to; `more` are further pieces of it."""
    rows = min(len(subject.reading.rows), MOST_ROWS) if subject.model.bert.layers else 0
    views = [attention_view(subject, row) for row in range(rows)]
    return sheet(f"Why {explanation.label}?", [explanation._repr_html_(), *more, *views])
