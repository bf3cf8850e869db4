"""Preparing text against the `tokenizers` library's own batch encoding of the same sentences on the same cores.

    python benchmarks/prepare.py ../shared/data -o benchmarks/records/DATE_prepare/result.json

Ours reads the compressed files, finds sentences, encodes, hashes and writes a finished store; the library is only given
the sentences, ready in memory, for `encode_batch_fast`. Runs of the two are interleaved.
"""

import argparse
import gzip
import json
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tokenizers

from unmask.data.prepare import prepare
from unmask.text.documents import read_documents, read_texts
from unmask.text.learning import learn_vocabulary
from unmask.text.tokenizer import Tokenizer

CORPORA = {
    "English": ["pretrain_en/wiki_en.txt.gz", "pretrain_en/novels_en.txt.gz"],
    "Chinese": ["pretrain_zh/wiki_zh.txt.gz", "pretrain_zh/classics_zh.txt.gz"],
}
VOCABULARY = 30_000
BATCH = 8_000  # sentences: more at once gained nothing


def measure(paths: list[Path], size: int, runs: int, threads: int) -> dict[str, Any]:
    """Seconds of ours and theirs in turn, for about `size` bytes of each file."""
    with tempfile.TemporaryDirectory() as work:
        files = [_sample(path, Path(work), size) for path in paths]
        tokenizer = Tokenizer(learn_vocabulary(read_texts(files), size=VOCABULARY))
        tokenizer.save(Path(work) / "tokenizer")
        library = tokenizers.Tokenizer.from_file(str(Path(work) / "tokenizer" / "tokenizer.json"))
        sentences = [sentence for document in read_documents(files) for sentence in document.sentences]
        ours, theirs = [], []
        for _ in range(runs):
            shutil.rmtree(Path(work) / "store", ignore_errors=True)
            report = prepare(files, Path(work) / "store", tokenizer, threads=threads)
            ours.append(report.seconds)
            seconds, tokens = _encode(library, sentences)
            theirs.append(seconds)
            print(f"ours {ours[-1]:.1f} s, theirs {theirs[-1]:.1f} s", flush=True)
        ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
        return {
            "bytes": report.bytes,
            "sentences": report.sentences,
            "tokens": report.tokens,
            "tokens_of_the_library": tokens,  # it departs from the published rules on a few characters
            "ours": ours,
            "theirs": theirs,
            "ratio": statistics.median(ratios),
            "ratios": sorted(ratios),
            "megabytes_per_second": [report.bytes / 1e6 / statistics.median(seconds) for seconds in (ours, theirs)],
        }


def _sample(path: Path, work: Path, size: int) -> Path:
    """The beginning of a compressed file, compressed again."""
    with gzip.open(path, "rb") as file:
        content = file.read(size)
    (work / path.name).write_bytes(gzip.compress(content[: content.rindex(b"\n\n")]))
    return work / path.name


def _encode(library: tokenizers.Tokenizer, sentences: list[str]) -> tuple[float, int]:
    started, tokens = time.monotonic(), 0
    for batch in _batches(sentences):
        tokens += sum(len(encoding) for encoding in library.encode_batch_fast(batch, add_special_tokens=False))
    return time.monotonic() - started, tokens


def _batches(sentences: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(sentences), BATCH):
        yield sentences[start : start + BATCH]


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--size", type=int, default=9_000_000, help="bytes of each file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    flags = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(flags.threads)
    result: dict[str, Any] = {"threads": flags.threads, "tokenizers": tokenizers.__version__}
    for name, files in CORPORA.items():
        result[name] = measure([flags.data / file for file in files], flags.size, flags.runs, flags.threads)
    result["worker_memory_megabytes"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(json.dumps(result, indent=1))
    if flags.output:
        flags.output.parent.mkdir(parents=True, exist_ok=True)
        flags.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
