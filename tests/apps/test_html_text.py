"""The text of pages as a reader sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.apps.html_text import html_text


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("<p>one<p>two</p>", "one\n\ntwo"),
        ("<p>a\n  wrapped\tline</p>", "a wrapped line"),
        ("<b>b</b>old", "bold"),
        ("x &lt; y &#38; 雪", "x < y & 雪"),
        ("<style>p{}</style><p>seen<script>if (a<b) {}</script></p>", "seen"),
        ("<head><title>T</title><meta charset=utf-8><style>x</style></head><body>B</body>", "T\n\nB"),
        ("<head><title>T</title><body>no end of head", "T\n\nno end of head"),
        ("<table><tr><td>Ann<td>12</tr><tr><td>Bo<td>7</table>", "Ann 12\n\nBo 7"),
        ("<pre>a\n  b</pre>c", "a\nb\n\nc"),
        ("<!-- no --><p>yes</p>", "yes"),
        ("<p>cut in the mid<", "cut in the mid<"),
        ("</script></p>after", "after"),
        ("<ul><li>one</li><li>two</li></ul>", "one\n\ntwo"),
    ],
)
def test_a_page_says(page: str, wanted: str) -> None:
    assert html_text(page) == wanted


@given(st.text(st.characters(blacklist_characters="<&\r", blacklist_categories=["Cs", "Cc"])))
def test_text_without_tags_stays_but_for_its_blanks(text: str) -> None:
    assert html_text(text).split() == text.split()
