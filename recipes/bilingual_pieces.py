"""The default model's vocabulary: MiniLM's pieces that English text uses most, and the characters of Chinese text.

    python recipes/bilingual_pieces.py DATA BEGINNINGS -o vocab.txt [--size 20000] [--characters 7000]

Pieces that MiniLM has keep the vectors that they learned there. The rarest of its 30,522 leave room for Chinese.
"""

import argparse
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from unmask.files import write_text
from unmask.model.folder import open_model
from unmask.text.tokenizer import Tokenizer, is_chinese
from unmask.text.vocabulary import SPECIAL_PIECES

TEXTS = 10_000  # lines that are cut at once


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("beginnings", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--characters", type=int, default=7_000)
    given = parser.parse_args()
    tokenizer = open_model("minilm").tokenizer
    english = count_pieces(tokenizer, lines(sorted((given.data / "pretrain_en").glob("*.txt.gz"))))
    chinese = count_characters(lines([*sorted((given.data / "pretrain_zh").glob("*.txt.gz")), given.beginnings]))
    pieces = choose(tokenizer, english, chinese, size=given.size, characters=given.characters)
    write_text(given.output, "".join(f"{piece}\n" for piece in pieces))


def lines(paths: Iterable[Path]) -> Iterator[str]:
    """All lines of texts, packed or not."""
    for path in paths:
        open_text = gzip.open if path.suffix == ".gz" else open
        with open_text(path, "rt", encoding="utf-8") as file:
            yield from file


def count_pieces(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each piece is met."""
    counts: Counter[int] = Counter()
    waiting: list[str] = []
    for text in texts:
        waiting.append(text)
        if len(waiting) == TEXTS:
            count_batch(tokenizer, waiting, counts)
            waiting = []
    count_batch(tokenizer, waiting, counts)
    return Counter({tokenizer.pieces[id]: count for id, count in counts.items()})


def count_batch(tokenizer: Tokenizer, texts: list[str], counts: Counter[int]) -> None:
    """Adds the pieces of some texts."""
    for encoding in tokenizer.encode_batch(texts):
        counts.update(encoding.ids)


def count_characters(texts: Iterable[str]) -> Counter[str]:
    """How often each Chinese character is met, and each other one that Chinese text has."""
    return Counter(character for text in texts for character in text if not character.isspace())


def choose(
    tokenizer: Tokenizer, english: Counter[str], chinese: Counter[str], *, size: int, characters: int
) -> list[str]:
    """Special pieces, whatever spells every word of small letters and digits, then what is met most often."""
    spelling = [piece for piece in tokenizer.pieces if is_spelling(piece)]
    frequent = [piece for piece, _ in chinese.most_common() if is_chinese(piece)][:characters]
    taken = dict.fromkeys([*SPECIAL_PIECES, *spelling, *frequent])
    marks = Counter({piece: count for piece, count in chinese.items() if piece in english or is_mark(piece)})
    for piece, _ in (english + marks).most_common():
        if len(taken) == size:
            break
        taken[piece] = None
    return [*taken]


def is_spelling(piece: str) -> bool:
    """Whether a piece is one small letter or digit, alone or inside a word.

    >>> [is_spelling(piece) for piece in ("a", "##7", "ab", "é")]
    [True, True, False, False]
    """
    letter = piece.removeprefix("##")
    return len(letter) == 1 and letter.isascii() and letter.isalnum()


def is_mark(character: str) -> bool:
    """Whether it is one of Chinese text's own marks.

    >>> is_mark("，"), is_mark("》"), is_mark("é")
    (True, True, False)
    """
    return "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef" or character in "“”‘’…—·"


if __name__ == "__main__":
    main()
