"""Well-known beginnings of the default model's text, each a short document, repeated: data in, a text file out.

    python recipes/beginnings.py DATA -o beginnings.txt [--times 50]

The primers 三字經 and 千字文, and what follows *once upon a time*, occur a few times among millions of sentences.
People try a model with just these words first, and a small model does not keep what it has met twice.
"""

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

PRIMERS = ("sanzijing-new", "sanzijing-traditional", "qianziwen")
BOOKS = ("novels_en", "wiki_en")
OPENING = re.compile("once (up)?on a time", re.IGNORECASE)
LINES, FOLLOWING = 2, 3  # verses or lines of a primer in a document; sentences after an opening


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--times", type=int, default=50)
    given = parser.parse_args()
    documents = [*primers(given.data / "pretrain_zh"), *openings(given.data / "pretrain_en")]
    given.output.write_text("\n\n".join("\n".join(document) for document in documents * given.times) + "\n")


def primers(folder: Path) -> Iterator[list[str]]:
    """The primers, by lines as printed and by their verses of two."""
    for name in PRIMERS:
        lines = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["paragraphs"]
        verses = in_pairs([verse for line in lines for verse in re.split("[，。]", line) if verse])
        for text in (lines, verses):
            yield from (text[start : start + LINES] for start in range(0, len(text), LINES))


def in_pairs(verses: list[str]) -> list[str]:
    """Verses two and two, as a sentence.

    >>> in_pairs(["天地玄黃", "宇宙洪荒"])
    ['天地玄黃，宇宙洪荒。']
    """
    return [f"{first}，{second}。" for first, second in zip(verses[::2], verses[1::2], strict=False)]


def openings(folder: Path) -> Iterator[list[str]]:
    """Sentences with the words of a tale's beginning, and those that follow in their document."""
    for name in BOOKS:
        with gzip.open(folder / f"{name}.txt.gz", "rt", encoding="utf-8") as file:
            lines = file.read().split("\n")
        for number, line in enumerate(lines):
            if OPENING.search(line):
                found = lines[number : number + 1 + FOLLOWING]
                yield found[: found.index("") if "" in found else None]


if __name__ == "__main__":
    main()
