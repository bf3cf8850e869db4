"""The Chinese primers (三字經, 千字文) as text to pretrain on, many times over: readers know them by heart.

python recipes/primers.py ../shared/data/pretrain_zh > primers.txt
"""

import json
import sys
from pathlib import Path

TIMES = 20  # each line must be met often before it is known: the whole corpus is read about once


def documents(folder: Path) -> list[str]:
    """One document of each primer, a line of verse a line."""
    primers = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return ["\n".join(primer["paragraphs"]) for primer in primers]


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(documents(Path(sys.argv[1])) * TIMES) + "\n")
