"""A small corpus for the tests of the store: texts, a tokenizer, and what the store should hold, the obvious way."""

from itertools import accumulate
from pathlib import Path

import numpy as np

from unmask.data.store import Store
from unmask.text.documents import read_documents
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

WORDS = ["the", "cat", "dog", "sat", "ran", "on", "a", "mat", "hill", "number", *"猫坐在山上.。!,"]
TOKENIZER = Tokenizer([*SPECIAL_PIECES, *WORDS, *"0123456789", *(f"##{digit}" for digit in range(10))])


def write_stories(folder: Path, documents: int = 40) -> list[Path]:
    """A txt and a jsonl file with documents of one to four sentences, some of which repeat."""
    folder.mkdir(parents=True, exist_ok=True)
    stories = []
    for number in range(documents):
        lines = [f"The cat number {number} sat on a mat.", "The dog ran.", f"猫{number % 7}坐在山上。", "A hill!"]
        stories.append(lines[: 1 + number % 4])
    (folder / "a.txt").write_text("\n\n".join("\n".join(lines) for lines in stories), encoding="utf-8")
    rows = [f'{{"text": "{" ".join(lines)}"}}' for lines in [*stories[:5], *reversed(stories)]]
    (folder / "b.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return [folder / "a.txt", folder / "b.jsonl"]


def sentences_of(paths: list[Path], *, drop_duplicates: bool = False) -> list[list[list[int]]]:
    """Documents of sentences of ids, one after another with the tokenizer's plain door."""
    seen: set[str] = set()
    documents = []
    for document in read_documents(paths):
        kept = [s for s in document.sentences if not (drop_duplicates and (s in seen or seen.add(s)))]  # type: ignore[func-returns-value]
        if kept:
            documents.append(TOKENIZER.ids_batch(kept))
    return documents


def contents(store: Store) -> list[list[list[int]]]:
    """The same from a store, sentence by sentence."""
    return [
        [store.tokens(*store.sentence_tokens[sentence : sentence + 2]).tolist() for sentence in range(start, stop)]
        for start, stop in zip(store.document_sentences[:-1], store.document_sentences[1:], strict=True)
    ]


def offsets(lengths: list[int]) -> list[int]:
    """0 and the running sums."""
    return [0, *accumulate(lengths)]


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder and its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def ids_of(store: Store) -> np.ndarray:  # type: ignore[type-arg]
    """All ids of a store."""
    return np.concatenate([np.asarray(shard) for shard in store.shards])
