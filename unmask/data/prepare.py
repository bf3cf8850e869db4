"""Text to a token store: files and a tokenizer come in, a finished store goes out (`store.py` says what is in it).

The work goes shard by shard into the folder `parts` of the store; a shard that is complete is never done again, so work
that was interrupted continues, to the same bytes. At the end the shards are put together, and `store.json`, which is
written last, declares the store finished.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from unmask.data.assemble import assemble
from unmask.data.cluster import prepare_on_ray
from unmask.data.shards import ShardRecord, plan_shards, read_record
from unmask.data.store import DESCRIPTION, FORMAT, VERSION, read_description
from unmask.data.workers import available_cores, prepare_shards
from unmask.errors import InputError
from unmask.files import sha256, write_text
from unmask.text.documents import Lines, empty_corpus, find_files
from unmask.text.tokenizer import Tokenizer

PARTS, ORIGIN = "parts", "origin.json"


@dataclass(frozen=True)
class PrepareReport:
    """What a store holds and what it took. A short document has fewer than two sentences, so no pair comes from it."""

    documents: int
    sentences: int
    tokens: int
    bytes: int  # of text that was read
    seconds: float
    duplicate_documents: int
    duplicate_sentences: int
    short_documents: int
    reused: bool  # the store was there already, made from the same text in the same way


def prepare(
    paths: Sequence[Path],
    folder: Path,
    tokenizer: Tokenizer,
    *,
    column: str | None = None,
    lines: Lines = "auto",
    shard_bytes: int | None = None,
    drop_duplicates: bool = False,
    threads: int | None = None,
    ray: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> PrepareReport:
    """Tokenises text once, for any number of readings, with the cores of this machine or of the Ray cluster at `ray`.

    `on_progress` hears the bytes done and the bytes in all.

    >>> import tempfile
    >>> from unmask.text.vocabulary import SPECIAL_PIECES
    >>> work = Path(tempfile.mkdtemp())
    >>> _ = (work / "pets.txt").write_text("A cat. A dog.\\n\\nA cat.\\n")
    >>> report = prepare([work / "pets.txt"], work / "store", Tokenizer([*SPECIAL_PIECES, "a", "cat", "dog", "."]))
    >>> report.documents, report.sentences, report.tokens, report.duplicate_sentences
    (2, 3, 9, 1)
    """
    started = time.monotonic()
    files = [file for file in find_files(paths) if folder.resolve() not in file.resolve().parents]
    settings = {
        "column": column or "text",
        "lines": lines,
        "shard_bytes": shard_bytes or default_shard_bytes(files),
        "drop_duplicates": drop_duplicates,
    }
    origin = _origin(files, tokenizer, settings)
    reused = (folder / DESCRIPTION).exists()
    if reused:
        _check_same(folder, read_description(folder), origin)
    else:
        here = partial(prepare_shards, workers=threads or available_cores())
        _make(files, folder, tokenizer, origin, partial(prepare_on_ray, address=ray) if ray else here, on_progress)
    _remove_leftovers(folder)
    description = read_description(folder)
    counts = {name: description[name] for name in PrepareReport.__dataclass_fields__ if name in description}
    return PrepareReport(**counts, seconds=time.monotonic() - started, reused=reused)


def _make(
    files: Sequence[Path],
    folder: Path,
    tokenizer: Tokenizer,
    origin: dict[str, Any],
    work: Callable[..., Iterator[ShardRecord]],
    on_progress: Callable[[int, int], None] | None,
) -> None:
    """Prepares the shards that are not there yet and puts all of them together."""
    settings = origin["settings"]
    parts = _open_parts(folder, tokenizer, origin)
    plans = plan_shards(files, shard_bytes=settings["shard_bytes"], column=settings["column"])
    records = {plan.number: record for plan in plans if (record := read_record(parts, plan.number))}
    left = [plan for plan in plans if plan.number not in records]
    for record in work(left, parts, lines=settings["lines"]):
        records[record.number] = record
        if on_progress:
            on_progress(sum(record.bytes for record in records.values()), sum(plan.size for plan in plans))
    if not any(record.tokens for record in records.values()):
        _remove_leftovers(folder)
        folder.rmdir()
        raise empty_corpus(files)
    assembled = assemble(
        folder,
        parts,
        [records[plan.number] for plan in plans],
        vocabulary_size=tokenizer.size,
        drop_duplicates=settings["drop_duplicates"],
    )
    tokenizer.save(folder)
    write_text(folder / DESCRIPTION, json.dumps(origin | assembled, indent=1, ensure_ascii=False) + "\n")


def default_shard_bytes(files: Sequence[Path]) -> int:
    """8 MB, so that all cores have work; more for large corpora, so that there are some hundreds of shards.

    >>> default_shard_bytes([Path(__file__)]) >> 20
    8
    """
    return min(max(sum(file.stat().st_size for file in files) >> 8, 8 << 20), 1 << 30)


# What a store is made from


def _origin(files: Sequence[Path], tokenizer: Tokenizer, settings: dict[str, Any]) -> dict[str, Any]:
    """All that the store follows from and nothing else, no time, no place: the same text gives the same bytes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "vocabulary_hash": tokenizer.vocabulary_hash,
        "vocabulary_size": tokenizer.size,
        "cased": tokenizer.cased,
        "strip_accents": tokenizer.strip_accents,
        "split_chinese": tokenizer.split_chinese,
        "settings": settings,
        "texts": [_fingerprint(file) for file in files],
    }


def _fingerprint(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise InputError(f"{file}, a pipe or device", wanted="a file, which can be read twice", do="save it first")
    try:
        return {"name": file.name, "size": file.stat().st_size, "sha256": sha256(file)}
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", wanted="a readable file", do="check its permissions") from None


def _check_same(folder: Path, found: dict[str, Any], origin: dict[str, Any]) -> None:
    """Refuses to take a store made from something else for this one."""
    do = "prepare into another folder, or remove this one"
    if found["vocabulary_hash"] != origin["vocabulary_hash"]:
        raise InputError(f"{folder}, a store of another vocabulary", wanted="one of this vocabulary", do=do)
    if found["texts"] != origin["texts"]:
        changed = [text["name"] for text in origin["texts"] if text not in found["texts"]]
        gone = [text["name"] for text in found["texts"] if text not in origin["texts"]]
        names = sorted({*changed, *gone})
        what = ", ".join(names[:3]) + (" …" if len(names) > 3 else "") if names else "in another order"
        raise InputError(f"{folder}, a store of other text ({what})", wanted="one of this text", do=do)
    different = [name for name, value in origin["settings"].items() if found["settings"].get(name) != value]
    if different:
        said = ", ".join(f"{name} {found['settings'].get(name)}" for name in different)
        raise InputError(f"{folder}, a store made with {said}", wanted="one made with these settings", do=do)


def _open_parts(folder: Path, tokenizer: Tokenizer, origin: dict[str, Any]) -> Path:
    """The folder of unfinished work; what another origin left in it is removed."""
    parts = folder / PARTS
    begun = parts / ORIGIN
    if begun.is_file() and begun.read_text(encoding="utf-8") == json.dumps(origin):
        return parts
    if folder.exists() and not parts.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}, which holds something else", wanted="a new or empty folder", do="choose another")
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    tokenizer.save(parts)
    write_text(begun, json.dumps(origin))
    return parts


def _remove_leftovers(folder: Path) -> None:
    """What the work, and work that was killed, left beside the finished files; the parts go last."""
    if (folder / PARTS).exists():
        for path in folder.glob(".*.part"):
            path.unlink()
        shutil.rmtree(folder / PARTS)
