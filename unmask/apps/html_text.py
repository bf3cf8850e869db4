"""The text of a page: HTML in, what a reader would see out, a blank line between its blocks.

Scripts, styles and other things that are not read aloud are dropped; blanks are those of a browser.
"""

import re
from html.parser import HTMLParser


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


UNREAD = _words("script style template noscript svg math object iframe canvas")
BLOCKS = _words(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody tfoot thead title tr ul"
)
CELLS = _words("td th option")
BLANKS = re.compile(r"[ \t\r\n\f]+")
SPACES = re.compile(" +")


def html_text(page: str) -> str:
    """What a page says.

    >>> html_text("<title>Tea</title><script>x()</script><h1>How to</h1><p>Boil <b>water</b>.<br>Wait &amp; see.")
    'Tea\\n\\nHow to\\n\\nBoil water.\\nWait & see.'
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    reader.end_block()
    return "\n\n".join(reader.blocks)


class _Reader(HTMLParser):
    """Gathers the words of each block while tags go by."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self.words: list[str] = []  # of the block that is being read
        self.unread = 0  # how many of the open tags are not read aloud
        self.verbatim = 0  # how many of the open tags keep their line ends

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 (the parser's signature)
        if tag in BLOCKS:
            self.end_block()
        elif tag == "br":
            self.words.append("\n")
        elif tag in CELLS:
            self.words.append(" ")
        self.unread += tag in UNREAD
        self.verbatim += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self.end_block()
        self.unread = max(0, self.unread - (tag in UNREAD))
        self.verbatim = max(0, self.verbatim - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self.unread:
            self.words.append(data if self.verbatim else BLANKS.sub(" ", data))

    def end_block(self) -> None:
        """What was read so far is a block of its own."""
        lines = SPACES.sub(" ", "".join(self.words)).split("\n")
        self.words.clear()
        block = "\n".join(line.strip(" ") for line in lines).strip()
        if block:
            self.blocks.append(block)
