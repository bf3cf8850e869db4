"""Vocabulary learning against the `tokenizers` library's trainer: time, memory, and how the pieces fit other text.

    python benchmarks/vocabulary.py ../shared/data -o benchmarks/records/DATE_vocabulary/result.json

Runs of the two are interleaved, each in a process of its own; the library reads the text decompressed beforehand.
"""

import argparse
import gzip
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import BertWordPieceTokenizer

from unmask.text.coverage import measure_coverage
from unmask.text.documents import read_texts
from unmask.text.learning import count_characters, join_pieces, learn_pieces, special_pieces
from unmask.text.words import count_words

SIZE = 30_000
ENGLISH = ("pretrain_en/wiki_en.txt", "pretrain_en/novels_en.txt")
CHINESE = ("pretrain_zh/wiki_zh.txt", "pretrain_zh/classics_zh.txt")


def ours(files: Sequence[Path]) -> list[str]:
    """From the compressed files, as the command does it."""
    return learn_pieces(count_words(read_texts(files)), size=SIZE)


def theirs(files: Sequence[Path], limit_alphabet: int = 1000) -> list[str]:
    """The library's BERT trainer with its own settings."""
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train([str(file) for file in files], vocab_size=SIZE, limit_alphabet=limit_alphabet, show_progress=False)
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def theirs_all_characters(files: Sequence[Path]) -> list[str]:
    """The library's trainer without its limit of 1,000 characters, which Chinese cannot live with."""
    return theirs(files, limit_alphabet=SIZE)


def pairs_only(files: Sequence[Path]) -> list[str]:
    """Ours without the second step: all characters, then the most frequent pairs up to the size."""
    words = count_words(read_texts(files))
    characters = sorted(count_characters(words))
    pieces = special_pieces(0) + characters
    return pieces + join_pieces(words, most=SIZE - len(pieces), minimum_count=2)


LEARNERS: dict[str, Callable[[Sequence[Path]], list[str]]] = {
    "ours": ours,
    "ours, pairs only": pairs_only,
    "theirs": theirs,
    "theirs, all characters": theirs_all_characters,
}


def learn_once(learner: str, files: Sequence[Path]) -> dict[str, Any]:
    """One run with its figures; called in a process of its own."""
    started = time.monotonic()
    pieces = LEARNERS[learner](files)
    seconds = time.monotonic() - started
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss / 1024,
        "sha256": hashlib.sha256("\n".join(pieces).encode()).hexdigest(),
        "pieces": pieces,
    }


def run(learner: str, files: Sequence[Path], hash_seed: int) -> dict[str, Any]:
    """One run in a fresh process."""
    command = [sys.executable, __file__, "--once", learner, *map(str, files)]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def english_texts(data: Path) -> dict[str, Counter[str]]:
    """Word counts of text that no vocabulary here is learned from."""
    wikitext = "".join(read_texts([data / "wikitext-2/valid.txt.gz"]))
    return {
        "wikitext-2 valid": count_words([wikitext.replace("<unk>", " ").replace(" @-@ ", "-")]),
        "SQuAD dev": count_words(contexts(data / "squad/dev-v1.1.first-half.json.gz")),
        "COVID-QA": count_words(contexts(data / "covid_qa/200423_covidQA.json.gz")),
        "AG News test": count_words(gzip.decompress((data / "agnews/test.tsv.gz").read_bytes()).decode().splitlines()),
    }


def chinese_texts(data: Path) -> dict[str, Counter[str]]:
    """The same in Chinese."""
    return {
        "CMRC 2018 train": count_words(contexts(data / "cmrc2018/train.json.gz")),
        "ChnSentiCorp dev": count_words((data / "chnsenticorp/dev.tsv").read_text(encoding="utf-8").splitlines()),
    }


def contexts(path: Path) -> Iterator[str]:
    """The paragraphs of a file in SQuAD's form."""
    for article in json.loads(gzip.decompress(path.read_bytes()))["data"]:
        yield from (paragraph["context"] for paragraph in article["paragraphs"])


def fit(vocabularies: Mapping[str, Sequence[str]], texts: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Pieces per word and unknown rate of each vocabulary on each text."""
    rows: dict[str, Any] = {}
    for text, words in texts.items():
        for learner, pieces in vocabularies.items():
            coverage = measure_coverage(set(pieces) - set(special_pieces(0)), words)
            rows.setdefault(text, {})[learner] = [coverage.pieces_per_word, coverage.unknown_rate]
    return rows


def compare(data: Path, runs: int) -> dict[str, Any]:
    """Everything that the record says."""
    with tempfile.TemporaryDirectory() as folder:
        plain = {}
        for name in (*ENGLISH, *CHINESE):
            plain[name] = Path(folder) / Path(name).name
            plain[name].write_bytes(gzip.decompress((data / f"{name}.gz").read_bytes()))

        def learn(learner: str, names: Sequence[str], seed: int = 0) -> dict[str, Any]:
            return run(learner, [plain[n] if learner.startswith("theirs") else data / f"{n}.gz" for n in names], seed)

        timed: dict[str, list[dict[str, Any]]] = {"ours": [], "theirs": []}
        for number in range(runs):
            for learner, results in timed.items():
                results.append(learn(learner, ENGLISH[:: -1 if number % 2 else 1], number))
                print(learner, f"{results[-1]['seconds']:.1f} s", file=sys.stderr, flush=True)

        def learned(names: Sequence[str], learners: Sequence[str] = tuple(LEARNERS)) -> dict[str, list[str]]:
            return {learner: learn(learner, names)["pieces"] for learner in learners}

        wiki, novels = ENGLISH
        of_wiki, of_novels = learned([wiki], ("ours", "theirs")), learned([novels], ("ours", "theirs"))
        return {
            "time": {learner: _figures(results) for learner, results in timed.items()},
            "ratio": statistics.median(
                a["seconds"] / b["seconds"] for a, b in zip(timed["ours"], timed["theirs"], strict=True)
            ),
            "fit": {
                "both": fit(learned(ENGLISH), english_texts(data)),
                "Wikipedia": fit(of_wiki, {"novels": count_words(read_texts([plain[novels]]))}),
                "novels": fit(of_novels, {"Wikipedia": count_words(read_texts([plain[wiki]]))}),
                "Chinese": fit(learned(CHINESE), chinese_texts(data)),
            },
        }


def _figures(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        name: [round(result[name], 2) for result in results] for name in ("seconds", "cpu_seconds", "peak_megabytes")
    }
    return {**figures, "different_vocabularies": len({result["sha256"] for result in results})}


def main() -> None:
    """The comparison, or one run of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="+", type=Path, help="the folder of public data")
    parser.add_argument("-o", "--output", type=Path, help="where to write the figures")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--once", choices=LEARNERS, help="learn once from the files named")
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(learn_once(arguments.once, arguments.paths)))
        return
    figures = json.dumps(compare(arguments.paths[0], arguments.runs), indent=2, ensure_ascii=False)
    print(figures)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(figures + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
