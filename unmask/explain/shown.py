"""Scored words for people: the texts themselves with their words in colours, as HTML or for a terminal.

What speaks for the label is blue, what speaks against it is orange, and the more the deeper; the numbers are in the
titles of the words (HTML), and the colours are strong enough to be told apart by those who see few of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from unmask.explain.reading import Word

FOR, AGAINST = (37, 99, 176), (194, 87, 12)  # red, green, blue
FAINTEST = 0.08  # of the deepest colour; what is fainter stays plain
Part = tuple[str, float | None]  # a stretch of a text, and its score if it is a word


def stretches(text: str, words: Sequence[Word], scores: Sequence[float], part: int = 0) -> Iterator[Part]:
    """A text cut into its words and what is between them.

    >>> list(stretches("a, b", [Word("a", 0, 0, 1), Word("b", 0, 3, 4)], [0.5, -1.0]))
    [('a', 0.5), (', ', None), ('b', -1.0)]
    """
    done = 0
    for word, score in zip(words, scores, strict=True):
        if word.part != part:
            continue
        if word.start > done:
            yield text[done : word.start], None
        yield text[max(word.start, done) : word.end], score
        done = max(done, word.end)
    if done < len(text):
        yield text[done:], None


def words_as_html(texts: Sequence[str], words: Sequence[Word], scores: Sequence[float], notes: Sequence[str]) -> str:
    """The texts with coloured words, as a piece of a page; everything that is data is escaped."""
    most = max(map(abs, scores), default=0.0) or 1.0
    told = []
    for part, text in enumerate(texts):
        inner = "".join(_stretch_as_html(*stretch, most) for stretch in stretches(text, words, scores, part))
        told.append(f'<p style="line-height:1.9;white-space:pre-wrap">{inner}</p>')
    lines = "<br>".join(map(escape, notes))
    return f'<div class="explanation">{"".join(told)}<p style="font-size:.9em;opacity:.8">{lines}</p></div>'


def _stretch_as_html(text: str, score: float | None, most: float) -> str:
    if score is None:
        return escape(text)
    red, green, blue = FOR if score > 0 else AGAINST
    style = f"background:rgba({red},{green},{blue},{0.6 * abs(score) / most:.3f});border-radius:.2em"
    return f'<span title="{score:+.4f}" style="{style}">{escape(text)}</span>'


def terminal(
    texts: Sequence[str],
    words: Sequence[Word],
    scores: Sequence[float],
    width: int | None = None,
    *,
    colour: bool = True,
) -> list[str]:
    """The texts as lines for a terminal.

    >>> terminal(["a b"], [Word("a", 0, 0, 1), Word("b", 0, 2, 3)], [0.5, 0.0], colour=False)
    ['a b']
    """
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    most = max(map(abs, scores), default=0.0) or 1.0
    page = StringIO()
    console = Console(file=page, force_terminal=colour, color_system="truecolor" if colour else None, width=width)
    for part, text in enumerate(texts):
        line = Text()
        for stretch, score in stretches(text, words, scores, part):
            line.append(stretch, _style(score, most))
        console.print(line)
    return page.getvalue().splitlines()


def _style(score: float | None, most: float) -> str:
    """The background of a word: from black to the deepest colour."""
    if score is None or abs(score) < FAINTEST * most:
        return ""
    red, green, blue = (round(channel * abs(score) / most) for channel in (FOR if score > 0 else AGAINST))
    return f"white on rgb({red},{green},{blue})"


def figures(told: Mapping[str, Any]) -> list[str]:
    """What the numbers of an explanation say, line by line."""
    true = told["faithfulness"]
    ranked = sorted(zip(told["scores"], told["tokens"], strict=True), key=lambda pair: -pair[0])
    lines = [
        f"{told['label']} ({told['score']:.4g}), by {told['method']}",
        "for it: " + ", ".join(f"{token} {score:+.3g}" for score, token in ranked[:5] if score > 0),
        "against: " + ", ".join(f"{token} {score:+.3g}" for score, token in ranked[:-6:-1] if score < 0),
        f"comprehensiveness {true['comprehensiveness']:.3f} (random orders {true['random']:.3f}), "
        f"sufficiency {true['sufficiency']:.3f} (random orders {true['random_sufficiency']:.3f})",
        f"faithfulness: {true['verdict']}",
    ]
    if "completeness_error" in told:
        lines.append(f"completeness error {told['completeness_error']:.2g} after {told['steps']} steps")
    if "standard_errors" in told:
        lines.append(f"largest standard error {max(told['standard_errors'], default=0.0):.2g}")
    return [line for line in lines if not line.endswith(": ")]
