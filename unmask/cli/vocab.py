"""The verbs `vocab learn` and `vocab check`: text files come in; a vocabulary, and how it fits, go out."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.console import Answer, Console, verb
from unmask.errors import InputError

if TYPE_CHECKING:
    from unmask.text.coverage import Coverage
    from unmask.text.tokenizer import Tokenizer

Texts = Annotated[
    list[Path], typer.Argument(metavar="TEXT", help="Files or folders: txt, jsonl, csv, tsv, parquet; .gz, .zst.")
]
Column = Annotated[str | None, typer.Option("--column", help="Where a table has its text.", show_default="text")]

ChineseWords = Annotated[
    bool, typer.Option("--chinese-words", help="Chinese pieces may have several characters, as words have.")
]


@verb
def learn(
    texts: Texts,
    output: Annotated[Path, typer.Option("-o", "--output", help="The vocabulary file to write.")],
    size: Annotated[int, typer.Option("--size", min=6, help="How many pieces, special ones included.")],
    console: Console,
    cased: Annotated[bool, typer.Option("--cased", help="Keep capitals and accents.")] = False,
    unused: Annotated[int, typer.Option("--unused", min=0, help="Empty slots for later additions.")] = 0,
    chinese_words: ChineseWords = False,
    minimum_count: Annotated[
        int, typer.Option("--minimum-count", min=1, help="A piece of several characters occurs this often.")
    ] = 2,
    column: Column = None,
) -> Answer:
    """Learn a WordPiece vocabulary from text; the same text gives the same bytes everywhere."""
    from unmask.text.coverage import measure_coverage
    from unmask.text.documents import read_texts
    from unmask.text.learning import learn_pieces
    from unmask.text.vocabulary import write_vocabulary
    from unmask.text.words import count_words

    started = time.monotonic()
    if output.is_dir():
        raise InputError(f"-o {output}, a folder", wanted="a file", do=f"try -o {output / 'vocab.txt'}")
    blocks = _with_progress(read_texts(texts, column=column), console)
    words = count_words(blocks, cased=cased, split_chinese=not chinese_words)
    pieces = learn_pieces(words, size=size, unused=unused, minimum_count=minimum_count)
    write_vocabulary(output, pieces)
    if len(pieces) < size:
        console.note(f"the text has only {len(pieces):,} pieces that occur often enough, of {size:,} asked for")
    coverage = measure_coverage(pieces, words)
    return Answer(_fields(len(pieces), started, coverage), f"{output}: {len(pieces):,} pieces; {_in_words(coverage)}")


@verb
def check(
    vocabulary: Annotated[Path, typer.Argument(metavar="VOCAB", help="A vocabulary file or a model folder.")],
    texts: Texts,
    console: Console,
    cased: Annotated[
        bool | None, typer.Option("--cased/--uncased", help="For a file; cased if it has capitals, unless given.")
    ] = None,
    chinese_words: ChineseWords = False,
    top: Annotated[int, typer.Option("--top", min=0, help="How many additions to suggest.")] = 20,
    column: Column = None,
) -> Answer:
    """See how a vocabulary fits text: unknown words, pieces per word, and what would be worth adding."""
    from unmask.text.coverage import measure_coverage, missing_characters, suggest_additions
    from unmask.text.documents import read_texts
    from unmask.text.words import count_words

    started = time.monotonic()
    tokenizer = _open(vocabulary, cased, chinese_words)
    words = count_words(
        _with_progress(read_texts(texts, column=column), console),
        cased=tokenizer.cased,
        strip_accents=tokenizer.strip_accents,
        split_chinese=tokenizer.split_chinese,
    )
    coverage = measure_coverage(tokenizer.pieces, words)
    additions = suggest_additions(tokenizer.pieces, words, top=top)
    missing = missing_characters(tokenizer.pieces, words, top=top)
    fields = _fields(tokenizer.size, started, coverage) | {
        "additions": [asdict(addition) for addition in additions],
        "missing_characters": [{"piece": piece, "count": count} for piece, count in missing],
    }
    lines = [f"{vocabulary}: {tokenizer.size:,} pieces; {_in_words(coverage)}"]
    lines += [f"  add {a.word}: {a.count:,} times in {a.pieces} pieces, saves {a.saves:,}" for a in additions]
    lines += [f"  add {piece}: missing, makes {count:,} words unknown" for piece, count in missing]
    return Answer(fields, "\n".join(lines))


def _open(vocabulary: Path, cased: bool | None, chinese_words: bool) -> "Tokenizer":
    """The tokenizer of a model folder with its own settings, or one for a vocabulary file."""
    from unmask.text.tokenizer import Tokenizer
    from unmask.text.vocabulary import has_capitals, read_vocabulary

    if vocabulary.is_dir():
        return Tokenizer.load(vocabulary)
    pieces = read_vocabulary(vocabulary)
    cased = has_capitals(pieces) if cased is None else cased
    return Tokenizer(pieces, cased=cased, split_chinese=not chinese_words)


def _with_progress(blocks: Iterable[str], console: Console) -> Iterator[str]:
    with console.progress("reading", unit="characters") as progress:
        done = 0
        for block in blocks:
            yield block
            done += len(block)
            progress.update(done)


def _fields(size: int, started: float, coverage: "Coverage") -> dict[str, object]:
    return {
        "size": size,
        "seconds": round(time.monotonic() - started, 3),
        "unknown_rate": coverage.unknown_rate,
        "pieces_per_word": coverage.pieces_per_word,
    }


def _in_words(coverage: "Coverage") -> str:
    unknown = f"{coverage.unknown_rate:.4%} of {coverage.words:,} words unknown"
    return f"{coverage.pieces_per_word:.4f} pieces per word, {unknown}"
