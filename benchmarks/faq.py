"""How well an FAQ finds answers and knows what it does not know: by words, by vectors, by both, and tuned.

    OMP_NUM_THREADS=1 python benchmarks/faq.py ../shared/data [SET…] [--pair-model DIR] -o result.json

Sets: `stackfaq` (the questions alone in the FAQ), `stackfaq+5` (five paraphrases of each with them), `covid`, `lcqmc`.
The questions asked are paraphrases that the FAQ does not have. For AUROC each is asked again with its answer left out.
Chinese has no public FAQ beside the project: paraphrases of LCQMC that hang together are taken as one entry.
"""

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps.faq import Faq
from unmask.apps.faq_entries import Entry, merged
from unmask.apps.faq_index import FaqIndex
from unmask.apps.faq_measures import Judged, judge, right_entries
from unmask.apps.faq_tuning import TuningRequest, tune
from unmask.apps.reranking import Reranker
from unmask.apps.vectors import TextVectors
from unmask.retrieve.fusion import fuse

Set = tuple[tuple[Entry, ...], list[str], list[str]]  # entries, questions asked, their answers
KEPT = 5  # paraphrases of an entry that its FAQ may have
TUNED = {"stackfaq+5": (60, 5e-5), "lcqmc": (90, 3e-4), "covid": (14, None)}  # steps and learning rate


def main() -> None:
    """Measures the sets one after another, writing the figures after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--pair-model", type=Path, help="a model fine-tuned on pairs, to order the best entries again")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = json.loads(arguments.output.read_text())["rows"] if arguments.output.exists() else []
    for name in arguments.sets:
        read, model = SETS[name]
        given = read(arguments.data)
        found = reordered(name, given, model, arguments.pair_model) if arguments.pair_model else None
        for row in found or measured(name, given, model):
            rows.append(row)
            print(json.dumps(row), flush=True)
            arguments.output.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


def measured(name: str, given: Set, model: str) -> Iterator[dict[str, Any]]:
    """A row of figures for each way to find an answer."""
    entries, questions, answers = given
    about = {"set": name, "model": model, "entries": len(entries)}
    encoder = TextVectors(model)
    index = FaqIndex.of(entries, encoder)
    right, asked = right_entries(entries, answers), index.space(questions)

    def row(way: str, judged: Judged, threshold: float) -> dict[str, Any]:
        return about | {"way": way, **judged.scores(threshold).to_dict()}

    for way, words in (("words (BM25)", 1.0), ("vectors", 0.0), ("words and vectors", index.words)):
        faq = Faq.of(index.weighing(words))
        yield row(way, faq.judge(questions, right, asked), faq.threshold)
    if index.space.whitening is not None:
        raw = FaqIndex(entries, type(index.space)(encoder), encoder(index.phrasings), index.lexical, 0.0)
        faq = Faq.of(raw)
        yield row("vectors, not whitened", faq.judge(questions, right), faq.threshold)
    yield row("ranks fused", fused(index, questions, asked, right), 0.0)
    if name in TUNED:
        started = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            steps, rate = TUNED[name]
            changes = {"learning_rate": rate}
            tuned = tune(TuningRequest(entries, model, Path(folder) / "faq", steps=steps, changes=changes))
            found = tuned.faq.judge(questions, right)
            more = {"tuning": tuned.to_dict(), "words": tuned.faq.index.words}
            more["tuning_cpu_seconds"] = round(time.process_time() - started, 1)
        yield row("tuned", found, tuned.faq.threshold) | more


def reordered(name: str, given: Set, model: str, pair_model: Path) -> Iterator[dict[str, Any]]:
    """The rows of an FAQ with and without a pair model that orders the ten best entries again."""
    entries, questions, answers = given
    index = FaqIndex.of(entries, TextVectors(model))
    right, asked = right_entries(entries, answers), index.space(questions)
    for way, reranker in (("words and vectors", None), ("re-ranked", Reranker.open(pair_model))):
        started = time.process_time()
        faq = Faq.of(index, reranker)
        judged = faq.judge(questions, right, asked).scores(faq.threshold).to_dict()
        spent = 1000 * (time.process_time() - started) / len(questions)
        yield {"set": name, "model": model, "entries": len(entries), "way": way, **judged, "cpu_ms": round(spent, 1)}


def fused(index: FaqIndex, questions: list[str], asked: Any, right: Any) -> Judged:
    """The figures of reciprocal-rank fusion; without the right entry all ranks are counted anew."""
    by_words, by_vectors = (index.by_entry(index.weighing(words).scores(questions, asked)) for words in (1.0, 0.0))

    def scores(allowed: Any) -> Any:
        found = np.full(by_words.shape, -1e9)
        for number, may in enumerate(allowed):
            orders = [np.argsort(-np.where(may, one[number], -1e9), kind="stable") for one in (by_words, by_vectors)]
            for place, score in fuse([order[: may.sum()].tolist() for order in orders]):
                found[number, place] = score
        return found

    whole, without = judge(scores(np.ones_like(right)), right), scores(~right).max(1)
    return Judged(whole.right, whole.ranks, whole.best, without)


def stackfaq(data: Path, kept: int) -> Set:
    """125 entries; of each the paraphrases from the sixth on are asked, and `kept` of the first five are known."""
    pairs = json.loads((data / "stackfaq" / "stackExchange-FAQ.json").read_text(encoding="utf-8"))["root"]["qapair"]
    entries, asked = [], []
    for number, pair in enumerate(pairs):
        ways = [way for way in pair["rephr"] if way and way.strip() not in ("", "*")]
        answer = pair["answer"][0] if isinstance(pair["answer"], list) else pair["answer"]
        entries.append(Entry(pair["question"], f"{number}: {answer}", tuple(ways[:kept])))
        asked += [(way, entries[-1].answer) for way in ways[KEPT:]]
    return tuple(entries), [way for way, _ in asked], [answer for _, answer in asked]


def covid(data: Path) -> Set:
    """The bank's questions and answers; asked are the questions judged similar to one of them."""
    with (data / "covid_faq" / "faq_covidbert.csv").open(encoding="utf-8") as file:
        bank = [Entry(row["question"], row["answer"]) for row in csv.DictReader(file)]
    answers = {entry.question: entry.answer for entry in reversed(bank)}
    with (data / "covid_faq" / "eval_question_similarity_en.csv").open(encoding="utf-8") as file:
        pairs = [row for row in csv.DictReader(file) if row["similar"] == "1" and row["question_1"] in answers]
    return merged(bank), [row["question_2"] for row in pairs], [answers[row["question_1"]] for row in pairs]


def lcqmc(data: Path) -> Set:
    """Questions of LCQMC's dev set that are paraphrases of one another, three or more: the last of each is asked."""
    groups: dict[str, list[str]] = {}
    for line in (data / "lcqmc" / "dev.txt").read_text(encoding="utf-8").splitlines():
        first, second, label = line.split("\t")
        if label == "1":
            one, other = groups.setdefault(first, [first]), groups.setdefault(second, [second])
            if one is not other:
                one += other
                groups.update(dict.fromkeys(other, one))
    whole = [group for group in {id(group): group for group in groups.values()}.values() if len(group) >= 3]
    entries = tuple(Entry(group[0], f"答案 {number}", tuple(group[1:-1])) for number, group in enumerate(whole))
    return entries, [group[-1] for group in whole], [entry.answer for entry in entries]


SETS: dict[str, tuple[Callable[[Path], Set], str]] = {
    "stackfaq": (lambda data: stackfaq(data, 0), "minilm"),
    "stackfaq+5": (lambda data: stackfaq(data, KEPT), "minilm"),
    "covid": (covid, "minilm"),
    "lcqmc": (lcqmc, "default"),
}

if __name__ == "__main__":
    main()
